// Many tasks accept at the same time: each lands exactly once, whatever comes in between.
import { gateYaml } from '../e2e/lib/repo.mjs';
import { abideBin, print, rounds, table } from './lib.mjs';

await table('20 tasks accepting at once', { needs: ['start', 'done', 'accept', 'update'] }, async (b) => {
  const r = b.repo('repo', { 'a.txt': '1\n', 'abide.yaml': gateYaml({ test: 'true' }) });
  const first = r.head();
  const many = rounds(20);
  const tasks = [];
  for (let i = 0; i < many; i++) {
    const d = await b.s.ok(['start', `task ${i}`], { cwd: r.dir });
    r.commit({ [`n${i}.txt`]: `${i}\n` }, `work ${i}`, { cwd: d.path });
    tasks.push({ ...d, refused: {}, tries: 0 });
  }
  const call = async (words, cwd) => {
    const x = await b.s.run(abideBin, [...words, '--json'], { cwd, timeout: 300000 });
    return JSON.parse(x.stdout);
  };
  // As a person or an agent would: done, accept; when told that the trunk went on, update and again.
  const land = async (t) => {
    for (t.tries = 1; t.tries < 200; t.tries++) {
      let e = await call(['done'], t.path);
      if (e.ok) e = await call(['accept'], t.path);
      if (e.ok) return;
      t.refused[e.error] = (t.refused[e.error] ?? 0) + 1;
      if (e.error === 'behind_trunk') await call(['update'], t.path);
      else if (!e.retryable) throw new Error(`${t.branch}: ${e.error}: ${e.message}`);
    }
    throw new Error(`${t.branch} did not land`);
  };
  const begun = performance.now();
  await Promise.all(tasks.map(land));
  const took = performance.now() - begun;
  const merges = r.git(['rev-list', '--merges', `${first}..main`]).split('\n').filter(Boolean).length;
  const receipts = r.git(['notes', '--ref=abide', 'list']).split('\n').filter(Boolean).length;
  const files = r.git(['ls-tree', '--name-only', 'main']).split('\n').filter((f) => /^n\d+\.txt$/.test(f)).length;
  const times = (i) => r.git(['log', '--format=%H', '--no-merges', `--grep=^work ${i}$`, 'main']).split('\n').filter(Boolean).length;
  const once = tasks.filter((_, i) => times(i) === 1).length;
  const refused = {};
  for (const t of tasks) for (const [slug, n] of Object.entries(t.refused)) refused[slug] = (refused[slug] ?? 0) + n;
  print(['', ''], [
    ['tasks', String(many)], ['landed exactly once', String(once)], ['their files on the trunk', String(files)],
    ['receipts', String(receipts)], ['merge commits on the trunk (from update)', String(merges)],
    ['tries, most of one task', String(Math.max(...tasks.map((t) => t.tries)))],
    ['refusals', Object.entries(refused).map(([slug, n]) => `${slug} ${n}`).join(', ') || 'none'],
    ['all of it, s', (took / 1000).toFixed(1)],
  ]);
  const ok = once === many && files === many && receipts === many;
  console.log(`${ok ? 'reached' : 'MISSED '}  all landed, each exactly once, each with a receipt`);
});
