// How long after a ref moved does what waits for it end?
import { median, printTurns, quantile, reach, rounds, table, turns } from './lib.mjs';

await table('Ref update → waiting process ended', { needs: ['await'] }, async (b) => {
  const r = b.repo();
  const base = r.head();
  const tip = r.commitOn('feature', { 'a.txt': '1\n' });
  const once = (argv, interval = 0) => () => {
    r.moveTo('main', base);
    return b.wake(r, 'refs/heads/main', [tip], argv, { wait: 20 + Math.random() * interval });
  };
  const script = (hold) => ['/bin/sh', '-ec', `until git merge-base --is-ancestor feature main; do ${hold}; done`];
  const watch = 'inotifywait -qq -t 60 -e moved_to .git/refs/heads';
  const got = await turns({
    'abide await --landed': { n: rounds(60), once: once(['abide', 'await', '--landed', 'feature', '--fresh', '--timeout', '60']) },
    'abide await --trunk-moved': { n: rounds(60), once: once(['abide', 'await', '--trunk-moved', '--fresh', '--timeout', '60']) },
    'one git process': { n: rounds(60), once: () => b.time(['git', '--version']) },
    'inotifywait, no git': { n: rounds(60), once: once(['/bin/sh', '-c', `exec ${watch}`]) },
    'inotifywait + git script': { n: rounds(60), once: once(script(watch)) },
    'polling script, 0.5 s': { n: rounds(20), once: once(script('sleep 0.5'), 500) },
    'polling script, 2 s': { n: rounds(8), once: once(script('sleep 2'), 2000) },
    'polling script, 3 s': { n: rounds(8), once: once(script('sleep 3'), 3000) },
  });
  printTurns(got);
  const moved = got['abide await --trunk-moved'];
  console.log('(a git process takes 1.9 ms on the quiet machine that the numbers to reach were taken on)');
  reach('median, --trunk-moved', median(moved), 5);
  reach('p99, --trunk-moved', quantile(moved, 0.99), 12);
  reach('median, --landed', median(got['abide await --landed']), 5);
  reach('p99, --landed', quantile(got['abide await --landed'], 0.99), 12);
});
