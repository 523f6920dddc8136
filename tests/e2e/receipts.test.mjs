import { rmSync } from 'node:fs';
import { test, assert } from './lib/index.mjs';

/** A repository where `name` landed; what accept answered. */
async function landed(s, names = ['fix']) {
  const r = await s.repo({ gate: { test: 'true' } });
  const answers = [];
  for (const name of names) {
    const t = await s.ok(['start', name, '--exact'], { cwd: r.dir });
    r.commit({ [`${name}.txt`]: name }, name, { cwd: t.path });
    answers.push(await s.ok(['accept', name], { cwd: r.dir }));
  }
  return { r, answers };
}
const forge = (r, carrier, text) => r.git(['notes', '--ref=refs/notes/abide', 'add', '-f', '-F', '-', carrier], { input: text });

test('receipts are listed and verified from git alone', async (s) => {
  const { r, answers } = await landed(s, ['one', 'two']);
  rmSync(r.store, { recursive: true });
  const d = await s.ok(['receipts']);
  assert.deepEqual(d.receipts.map((x) => [x.commit, x.branch, x.holds]),
    [[answers[1].commit, 'agent/two', true], [answers[0].commit, 'agent/one', true]]);
  const v = await s.ok(['receipts', 'verify']);
  assert.deepEqual([v.holding, v.not_holding], [2, 0]);
  const one = await s.ok(['receipts', 'show', answers[0].commit]);
  assert.deepEqual(one.receipts[0].receipt, answers[0].receipt);
  assert.equal(r.hasStore(), false);
  await s.refused(['receipts', 'show', 'HEAD~2'], 'unknown_target');
  await s.refused(['receipts', 'sing'], 'invalid_arguments');
});

test('hostile notes prove nothing and are shown safely', async (s) => {
  const { r, answers } = await landed(s);
  const good = answers[0].receipt;
  const first = r.head('main~1');
  const other = r.commitOn('elsewhere', { 'x.txt': 'x' });
  forge(r, first, JSON.stringify(good));
  forge(r, other, JSON.stringify({ ...good, head: other, tree: r.git(['rev-parse', `${other}^{tree}`]).trim() }));
  const e = await s.ok(['receipts', 'verify']);
  assert.deepEqual([e.holding, e.not_holding], [1, 2]);
  forge(r, first, JSON.stringify({ ...good, head: first, branch: 'a\u001b[2Jb' }));
  forge(r, other, 'no json \u001b[31m');
  const shown = await s.abide(['receipts']);
  assert.equal(shown.code, 0);
  assert.equal(shown.stdout.includes('\u001b'), false);
  assert.match(shown.stdout, /proves nothing/);
});

test('--merge adds what another clone proved, after the same checks, and loses nothing', async (s) => {
  const { r, answers } = await landed(s, ['one']);
  const clone = s.path('clone');
  s.git(['clone', '--quiet', r.dir, clone]);
  const e = await s.refused(['receipts', '--merge', 'origin'], 'unknown_target', { cwd: clone });
  assert.match(e.hints[0], /git fetch origin '\+refs\/notes\/abide:refs\/notes\/remotes\/origin\/abide'/);
  // The other clone has a receipt of its own, and the remote's notes hold a lie.
  const t = await s.ok(['start', 'two', '--exact'], { cwd: clone });
  r.commit({ 'two.txt': 'x' }, 'two', { cwd: t.path });
  const two = await s.ok(['accept', 'two'], { cwd: clone });
  forge(r, r.head('main~1'), JSON.stringify({ ...answers[0].receipt, branch: 'lie' }));
  s.git(['fetch', '--quiet', 'origin', '+refs/notes/abide:refs/notes/remotes/origin/abide'], { cwd: clone });
  const d = await s.ok(['receipts', '--merge', 'origin'], { cwd: clone });
  assert.deepEqual([d.added, d.holding, d.not_holding], [1, 1, 1]);
  const all = await s.ok(['receipts'], { cwd: clone });
  assert.deepEqual(all.receipts.map((x) => [x.branch, x.holds]), [['agent/two', true], ['agent/one', true]]);
  assert.equal(all.receipts[0].commit, two.commit);
  assert.equal((await s.ok(['receipts', '--merge', 'origin'], { cwd: clone })).added, 0);
});
