// `start` beside plain `git worktree add`, in a repository of 5,400 files.
import { median, printTurns, reach, rounds, table, turns } from './lib.mjs';

await table('start in a repository of 5,400 files', { needs: ['start'] }, async (b) => {
  const files = {};
  for (let i = 0; i < 5400; i++) files[`src/d${i % 60}/f${i}.txt`] = `file ${i}\n${'text '.repeat(100)}\n`;
  const r = b.repo('repo', files);
  r.commit({ '.gitignore': 'nothing\n' });
  let n = 0;
  // Removing what was made is not timed; both leave the disk as they found it.
  const got = await turns({
    'git worktree add': {
      n: rounds(9),
      once: () => {
        const name = `plain${n++}`;
        const path = b.s.path('trees', name);
        const ms = b.time(['git', 'worktree', 'add', '-q', '-b', name, path, 'main'], { cwd: r.dir });
        r.git(['worktree', 'remove', '--force', path]);
        r.git(['branch', '-q', '-D', name]);
        return ms;
      },
    },
    'abide start': {
      n: rounds(9),
      once: async () => {
        const before = new Set(trees(r));
        const ms = b.time(['abide', 'start', `task ${n++}`, '--json'], { cwd: r.dir });
        for (const t of trees(r)) {
          if (before.has(t)) continue;
          const branch = b.s.git(['symbolic-ref', '--short', 'HEAD'], { cwd: t });
          r.git(['worktree', 'remove', '--force', t]);
          r.git(['branch', '-q', '-D', branch]);
        }
        return ms;
      },
    },
  });
  printTurns(got);
  reach('start / git worktree add', median(got['abide start']) / median(got['git worktree add']), 1.15, 'times');
});

function trees(r) {
  return r.git(['worktree', 'list', '--porcelain']).split('\n').filter((l) => l.startsWith('worktree ')).map((l) => l.slice(9));
}
