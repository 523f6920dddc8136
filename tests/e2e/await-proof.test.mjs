// await on proofs: green, red, and who is told that it is red.
import { test, assert, staysFalse } from './lib/index.mjs';

const notYet = { code: 124 };

function task(r, name = 'feat') {
  const path = r.worktree(name);
  const tip = r.commit({ [`${name}.txt`]: `${name}\n` }, `work of ${name}`, { cwd: path });
  return { path, tip, name };
}

test('a green wait is released by the proof of the live tip', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { test: gate.script } });
  const t = task(r);
  const p = s.spawnAbide(['await', '--green', 'feat', '--json']);
  await p.idle();
  const done = s.spawnAbide(['done', '--json'], { cwd: t.path });
  await gate.reached();
  await staysFalse(() => p.stdout() !== '', { ms: 200, what: 'an answer while the gate runs' });
  await gate.release(0);
  assert.equal((await done.done()).code, 0);
  const { json } = await p.done();
  assert.equal(json.data.met, true);
  assert.equal(json.data.observed.via, 'proof');
  assert.equal(json.data.observed.proof.status, 'honoured');
  assert.equal(json.data.observed.proof.commit, t.tip);
  assert.match(json.hints[0], new RegExp(`start --from ${t.tip}`));
});

test('a proof of another commit is stale, and green waits for the live tip', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = task(r);
  await s.ok(['done'], { cwd: t.path });
  r.commit({ more: '1' }, 'more', { cwd: t.path });
  const d = await s.ok(['await', '--green', 'feat', '--timeout', '0'], notYet);
  assert.equal(d.observed.proof.status, 'stale');
  await s.ok(['done'], { cwd: t.path });
  assert.equal((await s.ok(['await', '--resume', d.resume, '--timeout', '0'])).met, true);
});

test('the one who must mend it is told that the gate is red, once; others wait on', async (s) => {
  const r = await s.repo({ gate: { test: 'test -e ok' } });
  const t = task(r);
  const mine = await s.ok(['await', '--green', 'feat', '--timeout', '0'], { ...notYet, cwd: t.path });
  await s.refused(['done'], 'gate_red', { cwd: t.path });
  const told = await s.ok(['await', '--resume', mine.resume, '--timeout', '30'], { ...notYet, cwd: t.path });
  assert.equal(told.settled, 'red');
  assert.deepEqual(told.observed.proof.failing, ['test']);
  assert.equal(told.resume, mine.resume);
  const again = await s.ok(['await', '--resume', mine.resume, '--timeout', '0'], { ...notYet, cwd: t.path });
  assert.equal(again.settled, undefined);
  const other = await s.ok(['await', '--green', 'feat', '--timeout', '0'], notYet);
  assert.equal(other.settled, undefined);
  assert.equal(other.observed.proof.status, 'red');
});

test('a red gate ends the wait of its own worktree at once', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { test: gate.script } });
  const t = task(r);
  const p = s.spawnAbide(['await', '--green', 'feat', '--json'], { cwd: t.path });
  await p.idle();
  const done = s.spawnAbide(['done', '--json'], { cwd: t.path });
  await gate.reached();
  await gate.release(1);
  assert.equal((await done.done()).code, 1);
  const { json, code } = await p.done();
  assert.equal(code, 124);
  assert.equal(json.ok, true);
  assert.equal(json.data.settled, 'red');
  assert.match(json.hints.join(' '), /abide done/);
});

test('while another run of the same commit goes on, red is not told', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { test: gate.script } });
  const t = task(r);
  const first = s.spawnAbide(['done', '--json'], { cwd: t.path });
  await gate.reached(1);
  await gate.release(1);
  await first.done();
  const second = s.spawnAbide(['done', '--json'], { cwd: t.path });
  await gate.reached(2);
  const d = await s.ok(['await', '--green', 'feat', '--timeout', '0'], { ...notYet, cwd: t.path });
  assert.equal(d.settled, undefined);
  assert.equal(d.running.in_flight[0].verb, 'done');
  assert.equal(d.running.lead.verb, 'done');
  await gate.release(0);
  await second.done();
  assert.equal((await s.ok(['await', '--resume', d.resume, '--timeout', '0'], { cwd: t.path })).met, true);
});

test('a gate that ended between two calls is told, green as red', async (s) => {
  const r = await s.repo({ gate: { test: 'test -e ok' } });
  const t = task(r);
  const d = await s.ok(['await', '--green', 'feat', '--timeout', '0'], { ...notYet, cwd: t.path });
  await s.refused(['done'], 'gate_red', { cwd: t.path });
  assert.equal((await s.ok(['await', '--resume', d.resume], { ...notYet, cwd: t.path })).settled, 'red');
  r.commit({ ok: '1' }, 'mended', { cwd: t.path });
  await s.ok(['done'], { cwd: t.path });
  const met = await s.abide(['await', '--resume', d.resume, '--json'], { cwd: t.path });
  assert.equal(met.json.data.met, true);
  assert.match(met.json.hints[0], /abide accept/);
});

test('a met green answer stays pinned to its commit when the branch is made anew', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = task(r);
  const d = await s.ok(['await', '--green', 'feat', '--timeout', '0'], notYet);
  await s.ok(['done'], { cwd: t.path });
  await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  r.git(['worktree', 'remove', t.path]);
  r.git(['branch', '-q', '-D', 'feat']);
  r.commitOn('feat', { other: '1' }, 'other work');
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(again.observed.tip, t.tip);
  assert.equal(again.replayed, true);
});

test('a begun await never hides an older done', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { test: gate.script } });
  const t = task(r);
  const done = s.spawnAbide(['done', '--json'], { cwd: t.path });
  await gate.reached();
  const w = s.spawnAbide(['await', '--landed', 'feat', '--json'], { cwd: t.path });
  await w.idle();
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  assert.deepEqual(d.running.in_flight.map((f) => f.verb), ['done']);
  await gate.release(0);
  await done.done();
  w.kill('SIGINT');
  await w.done();
});

test('three things within a moment: none is lost', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = task(r);
  const waits = [['--green', 'feat'], ['--landed', 'feat'], ['--trunk-moved']].map((w) => s.spawnAbide(['await', ...w, '--json']));
  for (const w of waits) await w.idle();
  await s.ok(['done'], { cwd: t.path });
  r.git(['update-ref', 'refs/heads/main', t.tip]);
  for (const w of waits) assert.equal((await w.done()).json.data.met, true);
});
