// Two moves 1 to 50 ms apart, the second decisive: does the one who waits see it?
import { median, print, quantile, reach, rounds, table, turns } from './lib.mjs';

await table('Two events 1 to 50 ms apart, the second decisive', { needs: ['await'] }, async (b) => {
  const r = b.repo();
  const base = r.head();
  const tip = r.commitOn('feature', { 'a.txt': '1\n' });
  const other = r.commitOn('other', { 'b.txt': '1\n' });
  const both = r.git(['commit-tree', '-p', other, '-p', tip, '-m', 'both', `${tip}^{tree}`]);
  const once = (argv) => () => {
    r.moveTo('main', base);
    return b.wake(r, 'refs/heads/main', [other, both], argv, { gap: 1 + Math.random() * 49 });
  };
  const script = 'until git merge-base --is-ancestor feature main; do inotifywait -qq -t 3 -e moved_to .git/refs/heads || :; done';
  const got = await turns({
    'abide await --landed': { n: rounds(100), once: once(['abide', 'await', '--landed', 'feature', '--fresh', '--timeout', '60']) },
    'inotifywait + git script': { n: rounds(40), once: once(['/bin/sh', '-ec', script]) },
  });
  const late = (v) => v.filter((ms) => ms > 100).length;
  print(
    ['', 'rounds', 'over 100 ms', 'of them, %', 'median ms', 'worst ms'],
    Object.entries(got).map(([name, v]) => [name, String(v.length), String(late(v)), (100 * late(v)) / v.length, median(v), quantile(v, 1)]),
  );
  console.log('(the script looks again every 3 s, else it would wait for ever; ABIDE_BENCH_SCALE=10 for 1,000 rounds)');
  reach('waits over 100 ms', late(got['abide await --landed']), 0, '');
});
