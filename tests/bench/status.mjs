// `status` over 100 clean small worktrees beside `git status` in each, one after another.
import { median, printTurns, reach, rounds, table, turns } from './lib.mjs';

await table('status with 100 worktrees', { needs: ['status'] }, async (b) => {
  const files = {};
  for (let i = 0; i < 20; i++) files[`f${i}.txt`] = `file ${i}\n`;
  const r = b.repo('repo', files);
  const trees = [];
  for (let i = 0; i < 100; i++) {
    const path = b.s.path('trees', `t${i}`);
    r.git(['worktree', 'add', '-q', '-b', `agent/t${i}`, path, 'main']);
    b.s.git(['commit', '-q', '--allow-empty', '-m', `work ${i}`], { cwd: path });
    trees.push(path);
  }
  // An index written in the same second as its files is read again by every git: not what is measured.
  await new Promise((done) => setTimeout(done, 1500));
  for (const t of trees) b.s.git(['update-index', '-q', '--refresh'], { cwd: t });
  b.s.write('each.sh', trees.map((t) => `git -C '${t}' status --porcelain=v2 --branch`).join('\n'));
  const got = await turns({
    'git status, one by one': { n: rounds(9), once: () => b.time(['/bin/sh', '-e', b.s.path('each.sh')]) },
    'abide status': { n: rounds(9), once: () => b.time(['abide', 'status'], { cwd: r.dir }) },
    'abide status --json': { n: rounds(9), once: () => b.time(['abide', 'status', '--json'], { cwd: r.dir }) },
  });
  printTurns(got);
  reach('status / git status one by one', median(got['abide status']) / median(got['git status, one by one']), 0.6, 'times');
});
