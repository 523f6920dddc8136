// What does a wait cost while nothing happens?
import { lacksNamespaces, wraps } from '../e2e/lib/process.mjs';
import { abideBin, measure, ownCpu, print, reach, seconds, sleep, table, treeCpu } from './lib.mjs';

await table(`Processor time of an idle wait (watched for ${seconds} s, scaled to a minute)`, { needs: ['await'] }, async (b) => {
  const r = b.repo();
  r.commitOn('feature', { 'a.txt': '1\n' });
  const rows = [];
  const abide = (name, wrap) => {
    const p = b.s.spawn(abideBin, ['await', '--landed', 'feature', '--fresh', '--timeout', '600'], { cwd: r.dir, stdin: 'ignore', wrap });
    rows.push({ name, p, cpu: ownCpu });
  };
  const script = (name, hold) => {
    const p = b.s.spawn('/bin/sh', ['-ec', `until git merge-base --is-ancestor feature main; do ${hold}; done`], { cwd: r.dir, stdin: 'ignore', detached: true });
    rows.push({ name, p, cpu: treeCpu, group: true });
  };
  abide('abide, by events', []);
  const polls = !lacksNamespaces();
  if (polls) abide('abide, by polling', wraps.noInotifyInstances());
  const bare = b.s.spawn(measure, ['poll', ...['packed-refs', 'refs/heads/main', 'refs/heads/feature', 'refs/notes/abide', 'abide/bell/b'].map((f) => `${r.gitDir}/${f}`)], { stdin: 'ignore' });
  rows.push({ name: 'bare loop of stats, 250 ms', p: bare, cpu: ownCpu });
  script('inotifywait + git script', 'inotifywait -qq -e moved_to .git/refs/heads');
  script('polling script, 0.5 s', 'sleep 0.5');
  script('polling script, 2 s', 'sleep 2');
  script('polling script, 3 s', 'sleep 3');
  for (const row of rows) if (row.cpu === ownCpu) await row.p.idle().catch((e) => { throw new Error(`${row.name}: ${e.message}\n${row.p.stdout()}${row.p.stderr()}`); });
  await sleep(1000);
  for (const row of rows) row.from = row.cpu(row.p.pid);
  const begun = performance.now();
  await sleep(seconds * 1000);
  for (const row of rows) row.ms = ((row.cpu(row.p.pid) - row.from) * 60000) / (performance.now() - begun);
  for (const row of rows) row.p.kill('SIGKILL', { group: row.group });
  print(['', 'ms a minute', `times ${rows[polls ? 1 : 0].name}`], rows.map((row) => [row.name, row.ms, row.ms / rows[polls ? 1 : 0].ms]));
  reach('by events', rows[0].ms, 5, 'ms a minute');
  if (polls) reach('by polling', rows[1].ms, 30, 'ms a minute');
});
