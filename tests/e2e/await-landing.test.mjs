// await on landings that abide made: receipts as proof, refusals, branches that are gone.
import { test, eachZoo, assert, waitFor } from './lib/index.mjs';

const notYet = { code: 124 };

async function started(s, name, files = { [`${name}.txt`]: `${name}\n` }, r) {
  const d = await s.ok(['start', name, '--exact']);
  const tip = r.commit(files, `work of ${name}`, { cwd: d.path });
  return { ...d, tip };
}

async function land(s, t) {
  await s.ok(['done'], { cwd: t.path });
  return s.ok(['accept', t.id]);
}

test('a task that was started, landed and removed between two looks is told by its receipt', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const d = await s.ok(['await', '--landed', 'quick', '--may-start', '--timeout', '0'], notYet);
  const t = await started(s, 'quick', undefined, r);
  await land(s, t);
  assert.equal(r.git(['for-each-ref', 'refs/heads/agent/']), '');
  r.commitOn('main', { later: '1' }, 'others go on');
  const met = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(met.observed.via, 'receipt');
  assert.equal(met.observed.landed_commit, t.tip);
  assert.equal(met.branch, 'agent/quick');
});

test('a branch that had no work when last seen, landed and gone in the gap, is told', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const begun = await s.ok(['start', 'feat', '--exact']);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  assert.equal(d.observed.armed, false);
  const tip = r.commit({ f: '1' }, 'work', { cwd: begun.path });
  await land(s, { ...begun, tip });
  const met = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(met.observed.via, 'receipt');
});

test('a fresh call finds the receipt of a branch that is gone, in any store', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await started(s, 'feat', undefined, r);
  await land(s, t);
  for (const word of ['feat', 'agent/feat', 'refs/heads/agent/feat']) {
    const met = await s.ok(['await', '--landed', word, '--fresh', '--timeout', '0']);
    assert.equal(met.observed.landed_commit, t.tip);
  }
  assert.equal((await s.ok(['await', '--green', 'feat', '--timeout', '0'])).observed.via, 'receipt');
  await s.sh(`rm -rf '${r.store}'`);
  assert.equal((await s.ok(['await', '--landed', 'feat', '--timeout', '0'])).observed.via, 'receipt');
});

test('a wait that is held is released by an accept at once, however the branch ends', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await started(s, 'feat', undefined, r);
  const waits = [s.spawnAbide(['await', '--landed', 'feat', '--json']), s.spawnAbide(['await', '--trunk-moved', '--json']),
    s.spawnAbide(['await', '--green', 'feat', '--json'])];
  for (const w of waits) await w.idle();
  await land(s, t);
  for (const w of waits) assert.equal((await w.done()).json.data.met, true);
});

test('work that landed and is kept is met at once by its receipt; new work is not', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await started(s, 'feat', undefined, r);
  await s.ok(['done'], { cwd: t.path });
  await s.ok(['accept', 'feat', '--keep']);
  const met = await s.ok(['await', '--landed', 'feat', '--timeout', '0']);
  assert.equal(met.observed.via, 'receipt');
  r.commit({ more: '1' }, 'more', { cwd: t.path });
  await s.ok(['await', '--landed', 'feat', '--fresh', '--timeout', '0'], notYet);
});

test('a receipt of an earlier life of the name does not answer for the present one', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  await land(s, await started(s, 'feat', undefined, r));
  const again = await s.ok(['start', 'feat', '--exact']);
  r.commit({ second: '1' }, 'second life', { cwd: again.path });
  await s.ok(['await', '--landed', 'feat', '--fresh', '--timeout', '0'], notYet);
});

test('a refused accept is told to its own worktree, with slug and files, once', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await started(s, 'feat', { 'shared.txt': 'mine\n' }, r);
  await s.ok(['done'], { cwd: t.path });
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], { ...notYet, cwd: t.path });
  r.commitOn('main', { 'shared.txt': 'theirs\n' }, 'first');
  await s.refused(['accept'], 'behind_trunk', { cwd: t.path });
  const told = await s.abide(['await', '--resume', d.resume, '--json'], { cwd: t.path });
  assert.equal(told.code, 124);
  assert.equal(told.json.data.settled, 'refused');
  assert.equal(told.json.data.refused.error, 'behind_trunk');
  assert.equal(told.json.data.resume, d.resume);
  assert.equal((await s.ok(['await', '--resume', d.resume, '--timeout', '0'], { ...notYet, cwd: t.path })).settled, undefined);
  assert.equal((await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet)).settled, undefined);
});

test('no receipt and nothing seen: abide does not guess', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await s.ok(['start', 'feat', '--exact']);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  r.commit({ f: '1' }, 'work', { cwd: t.path });
  await land(s, { ...t, id: 'feat' });
  r.git(['update-ref', '-d', 'refs/notes/abide']);
  await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
});

const forged = {
  'for another commit': (n) => ({ ...n, head: n.base }),
  'with another tree': (n) => ({ ...n, tree: n.head }),
  'for another trunk': (n) => ({ ...n, trunk: 'next' }),
  'with a base that is no ancestor': (n) => ({ ...n, base: n.stranger }),
  'that is no JSON': () => 'landed, honestly',
  'that is too large': (n) => ({ ...n, pad: 'x'.repeat(70000) }),
  'of a newer major version': (n) => ({ ...n, abide_receipt: 2 }),
};
for (const [what, forge] of Object.entries(forged)) {
  test(`a receipt ${what} proves nothing`, async (s) => {
    const r = await s.repo();
    const base = r.tip('main');
    const stranger = r.commitOn('other', { o: '1' }, 'elsewhere');
    const d = await s.ok(['await', '--landed', 'feat', '--may-start', '--timeout', '0'], notYet);
    const head = r.commitOn('main', { f: '1' }, 'somebody else');
    const tree = r.git(['rev-parse', `${head}^{tree}`]).trim();
    const honest = { abide_receipt: 1, branch: 'feat', head, tree, base, tip: head, strategy: 'ff', trunk: 'main', gate_changed: false,
      proof: { gate_digest: 'x', jobs: [], finished_at: 1 }, accepted: { by: 'x', surface: 'cli' }, landed_at: 1, writer: 'x' };
    const note = forge({ ...honest, stranger });
    const text = s.write('note', typeof note === 'string' ? note : JSON.stringify(note));
    r.git(['notes', '--ref=abide', 'add', '-q', '-F', s.path('note'), head].filter((w) => w !== '-q'));
    await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
    delete honest.stranger;
    s.write('note', JSON.stringify(honest));
    r.git(['notes', '--ref=abide', 'add', '-f', '-F', s.path('note'), head]);
    assert.equal((await s.ok(['await', '--resume', d.resume, '--timeout', '0'])).observed.via, 'receipt');
    assert.ok(text === undefined || text);
  });
}

test('the agent that lands elsewhere and the ones that wait for it', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const a = await started(s, 'parser', undefined, r);
  const b = await started(s, 'ui', undefined, r);
  const w = s.spawnAbide(['await', '--landed', 'parser', '--json'], { cwd: b.path });
  await w.idle();
  await land(s, a);
  const { json } = await w.done();
  assert.equal(json.data.met, true);
  assert.equal(json.data.observed.behind, 1);
  assert.match(json.hints[0], /`abide update`/);
  await s.ok(['update'], { cwd: b.path });
  await land(s, b);
  const log = r.git(['log', '--format=%s', '--first-parent', 'main']);
  assert.ok(log.includes('ui'));
  await waitFor(() => r.git(['worktree', 'list', '--porcelain']).split('worktree ').length === 2, { what: 'only the main checkout is left' });
});

eachZoo('a landing in every kind of repository is told by its receipt', { except: ['unborn'] }, async (s, r, animal) => {
  const d = await s.ok(['await', '--landed', 'quick', '--may-start', '--timeout', '0'], notYet);
  r.commitOn(r.trunk, { 'abide.yaml': 'gate:\n  - name: test\n    run: "true"\n' }, 'a gate');
  const t = await s.ok(['start', 'quick', '--exact']);
  const tip = r.commit({ 'quick.txt': '1' }, 'work', { cwd: t.path });
  await land(s, { ...t, tip });
  const met = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(met.observed.via, 'receipt');
  assert.equal(met.observed.landed_commit, tip);
  assert.equal(r.tip(r.trunk), tip, animal.name);
});
