// What done and accept add to the jobs, beside what one would type instead.
import { gateYaml } from '../e2e/lib/repo.mjs';
import { median, printTurns, reach, rounds, table, turns } from './lib.mjs';

await table('done + accept of one small commit, a gate of one job that does nothing', { needs: ['start', 'done', 'accept'] }, async (b) => {
  const r = b.repo('repo', { 'a.txt': '1\n', 'abide.yaml': gateYaml({ test: 'true' }) });
  let n = 0;
  const parts = { done: [], accept: [] };
  const got = await turns({
    'abide done; abide accept': {
      n: rounds(15),
      once: async () => {
        const d = await b.s.ok(['start', `task ${n++}`], { cwd: r.dir });
        r.commit({ [`n${n}.txt`]: `${n}\n` }, 'work', { cwd: d.path });
        const done = b.time(['abide', 'done'], { cwd: d.path });
        const accept = b.time(['abide', 'accept'], { cwd: d.path });
        parts.done.push(done);
        parts.accept.push(accept);
        return done + accept;
      },
    },
    'sh -c true; git merge --ff-only; worktree remove; branch -d': {
      n: rounds(15),
      once: () => {
        const name = `plain${n++}`;
        const path = b.s.path('trees', name);
        r.git(['worktree', 'add', '-q', '-b', name, path, 'main']);
        r.commit({ [`n${n}.txt`]: `${n}\n` }, 'work', { cwd: path });
        return b.shell(`(cd '${path}' && sh -c true) && git merge -q --ff-only ${name} && git worktree remove '${path}' && git branch -q -d ${name}`, { cwd: r.dir });
      },
    },
    'one git process': { n: rounds(15), once: () => b.time(['git', '--version']) },
  });
  printTurns({ ...got, '  of it done': parts.done, '  of it accept': parts.accept });
  console.log('(a git process takes 1.9 ms on the quiet machine that the numbers to reach were taken on)');
  const [abide, plain] = Object.values(got).map(median);
  reach('done + accept beyond plain git and the job', abide - plain, 120);
});
