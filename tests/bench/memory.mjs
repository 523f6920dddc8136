// What does a wait keep in memory? PSS: shared pages are counted by share.
import { pss } from '../e2e/lib/process.mjs';
import { abideBin, median, print, reach, table } from './lib.mjs';

await table('Memory of a wait (PSS)', { needs: ['await'] }, async (b) => {
  const r = b.repo();
  r.commitOn('feature', { 'a.txt': '1\n' });
  const start = () => b.s.spawn(abideBin, ['await', '--landed', 'feature', '--fresh', '--timeout', '600'], { cwd: r.dir, stdin: 'ignore' });
  const one = await start().idle();
  const alone = one.pss() / 1024;
  const many = Array.from({ length: 49 }, start);
  for (const p of many) await p.idle();
  const each = median(many.map((p) => p.pss() / 1024));
  const sh = b.s.spawn('/bin/sh', ['-c', 'inotifywait -qq -e moved_to .git/refs/heads; :'], { cwd: r.dir, stdin: 'ignore', detached: true });
  while (sh.children().length === 0);
  const script = (sh.pss() + pss(sh.children()[0])) / 1024;
  for (const p of [one, ...many]) p.kill('SIGKILL');
  sh.kill('SIGKILL', { group: true });
  print(['', 'MiB', 'times abide, alone'], [
    ['abide, alone', alone, 1], ['abide, each of 50', each, each / alone], ['sh + inotifywait', script, script / alone],
  ]);
  reach('alone', alone, 3, 'MiB');
});
