// One evaluation and an answer, in a long history.
import { median, printTurns, reach, rounds, table, turns } from './lib.mjs';

await table('await --timeout 0, 20,000 commits', { needs: ['await'] }, async (b) => {
  const commits = 20000;
  const make = (name, graph) => {
    const r = b.repo(name);
    const lines = [];
    for (let i = 1; i <= commits; i++) {
      lines.push('commit refs/heads/main', `mark :${i}`, `committer A <a@b> ${1600000000 + i * 60} +0000`, 'data 2', `c${i % 10}`);
      if (i === 1) lines.push(`from ${r.head()}`);
      lines.push(`M 100644 inline f${i % 100}`, `data ${String(i).length}`, String(i));
    }
    for (const [branch, from] of [['near', commits - 10], ['far', commits / 2]]) {
      lines.push(`commit refs/heads/${branch}`, `committer A <a@b> ${1600000000 + (commits + 1) * 60} +0000`, 'data 1', 'b', `from :${from}`, 'M 100644 inline b', 'data 1', 'b');
    }
    b.s.git(['fast-import', '--quiet', '--force'], { cwd: r.dir, input: `${lines.join('\n')}\ndone\n` });
    if (graph) r.git(['commit-graph', 'write', '--reachable']);
    return r;
  };
  const without = make('without', false);
  const withGraph = make('with', true);
  const ask = (r, branch) => ({ n: rounds(30), once: () => b.time(['abide', 'await', '--landed', branch, '--fresh', '--timeout', '0'], { cwd: r.dir, ok: [124] }) });
  const git = (r, branch) => ({ n: rounds(30), once: () => b.time(['git', 'merge-base', '--is-ancestor', branch, 'main'], { cwd: r.dir, ok: [1] }) });
  const got = await turns({
    'near branch': ask(without, 'near'),
    'near branch, commit-graph': ask(withGraph, 'near'),
    'branch 10,000 back, commit-graph': ask(withGraph, 'far'),
    'branch 10,000 back': ask(without, 'far'),
    'git merge-base, near': git(without, 'near'),
    'git merge-base, commit-graph': git(withGraph, 'far'),
    'git merge-base, 10,000 back': git(without, 'far'),
    'git --version': { n: rounds(30), once: () => b.time(['git', '--version']) },
  });
  printTurns(got);
  reach('near branch', median(got['near branch']), 15);
  reach('commit-graph, near', median(got['near branch, commit-graph']), 15);
  reach('commit-graph, 10,000 back', median(got['branch 10,000 back, commit-graph']), 15);
});
