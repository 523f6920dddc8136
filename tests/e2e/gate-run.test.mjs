// The run as a process of its own: joined, let go, cancelled, killed.
import { readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, assert, alive, processesWith, staysFalse, waitFor } from './lib/index.mjs';

async function task(s, gate, more = {}) {
  const r = await s.repo({ gate, ...more });
  const tree = r.worktree('feature');
  const tip = r.commit({ 'work.txt': 'work\n' }, 'work', { cwd: tree });
  return { r, tree, tip };
}
const ours = (s, word) => processesWith('ABIDE_TEST_SANDBOX', s.dir).filter((p) => p.command.includes(word));
const runners = (s) => ours(s, ' __gate ');
const nobody = (s) => waitFor(() => ours(s, '__gate').length + ours(s, '__shepherd').length === 0, { what: 'runner and shepherds end' });
const count = (path) => readFileSync(path, 'utf8').split('\n').length - 1;

test('two calls for one commit share one run and one verdict', async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { test: gate.script });
  const first = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const second = s.spawnAbide(['done', 'feature'], { cwd: r.dir });
  await second.line(/run \d+ goes on already/);
  await gate.release(0);
  const a = (await first.done()).json.data;
  assert.equal(a.joined, false);
  const b = await second.done();
  assert.equal(b.code, 0);
  assert.match(b.stdout, /^passed +feature/);
  assert.equal(gate.arrivals(), 1);
});

test('sixteen calls at once run the gate once', async (s) => {
  const ran = s.write('ran', '');
  const { tree } = await task(s, { test: `echo x >>${ran}` });
  const all = await Promise.all(Array.from({ length: 16 }, () => s.ok(['done'], { cwd: tree })));
  assert.equal(count(ran), 1);
  assert.equal(new Set(all.map((d) => d.run)).size, 1);
});

test('a run that ended between look and begin is taken as the proof', async (s) => {
  const ran = s.write('ran', '');
  const { tree } = await task(s, { test: `echo x >>${ran}` });
  const slow = s.spawnAbide(['done', '--json'], { cwd: tree, env: { ABIDE_TEST_STOP_AT: 'gate:looked' } });
  await waitFor(() => /^\d+ \(.*\) T/s.test(readFileSync(`/proc/${slow.pid}/stat`, 'utf8')), { what: 'it stands still' });
  const d = await s.ok(['done'], { cwd: tree });
  slow.kill('SIGCONT');
  const late = (await slow.done()).json.data;
  assert.equal(late.gate_ran, false);
  assert.equal(late.run, d.run);
  assert.equal(count(ran), 1);
});

test('a red verdict is told to everybody who joined', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const first = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const second = s.spawnAbide(['done', '--rerun', '--json'], { cwd: tree });
  await second.idle();
  await gate.release(5);
  for (const p of [first, second]) assert.equal((await p.done()).json.error, 'gate_red');
  assert.equal(gate.arrivals(), 1);
});

test('a run is let go after the bound, goes on, and leaves its proof', async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { test: gate.script });
  const x = await s.abide(['done', '--json', '--detach-after', '0'], { cwd: tree });
  assert.equal(x.code, 0);
  assert.equal(x.json.data.running, true);
  assert.equal(x.json.data.verdict, 'running');
  assert.ok(x.json.hints.some((h) => h.includes('abide await --green feature')));
  await gate.reached();
  assert.equal(runners(s).length, 1);
  const joined = s.spawnAbide(['done', '--json'], { cwd: tree });
  await joined.idle();
  await gate.release(0);
  const d = (await joined.done()).json.data;
  assert.equal(d.joined, true);
  assert.equal(d.run, x.json.data.run);
  assert.equal((await s.ok(['done', 'feature'], { cwd: r.dir })).gate_ran, false);
});

test('a run that ends within the bound is answered as ever', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  const d = await s.ok(['done', '--detach-after', '60'], { cwd: tree });
  assert.equal(d.verdict, 'passed');
  assert.equal(d.running, false);
});

test('a run that was let go is ended by --cancel, with everything below it', { grace: 200 }, async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { test: `setsid sleep 300 & ${gate.script}` });
  await s.ok(['done', '--detach-after', '0'], { cwd: tree });
  const pid = await gate.reached();
  const d = await s.ok(['done', '--cancel', 'feature'], { cwd: r.dir });
  assert.equal(d.cancelled, true);
  assert.equal(d.verdict, 'cancelled');
  assert.equal(d.jobs[0].state, 'ended');
  assert.ok(!alive(pid));
  await nobody(s);
  assert.equal((await s.ok(['done', '--cancel'], { cwd: tree })).cancelled, false);
});

test('--cancel is told to those who watch', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script, later: { run: 'true', needs: ['test'] } });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  await s.ok(['done', '--cancel'], { cwd: tree });
  const x = await p.done();
  assert.equal(x.code, 1);
  assert.equal(x.json.error, 'cancelled');
  assert.match(x.json.message, /--cancel/);
  assert.deepEqual(x.json.data.jobs.map((j) => j.state), ['ended', 'ended']);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  test(`${signal} ends a run that belongs to the call`, { grace: 200 }, async (s) => {
    const gate = s.fifo();
    const { tree } = await task(s, { test: gate.script });
    const p = s.spawnAbide(['done', '--json'], { cwd: tree });
    const pid = await gate.reached();
    p.kill(signal);
    const x = await p.done();
    assert.equal(x.code, signal === 'SIGINT' ? 130 : 143);
    assert.equal(x.json.error, 'cancelled');
    assert.equal(x.json.data.verdict, 'cancelled');
    assert.ok(!alive(pid));
  });
}

test('a signal to a call that joined leaves the run alone', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const owner = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const guest = s.spawnAbide(['done', '--json'], { cwd: tree });
  await guest.idle();
  guest.kill('SIGINT');
  const x = await guest.done();
  assert.equal(x.code, 130);
  assert.match(x.json.message, /goes on/);
  await gate.release(0);
  assert.equal((await owner.done()).json.data.verdict, 'passed');
});

test('a signal to a call that would let go ends the call, not the run', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const p = s.spawnAbide(['done', '--json', '--detach-after', '600'], { cwd: tree });
  await gate.reached();
  p.kill('SIGTERM');
  assert.match((await p.done()).json.message, /goes on/);
  await gate.release(0);
  assert.equal((await s.ok(['done'], { cwd: tree })).verdict, 'passed');
  assert.equal(gate.arrivals(), 1);
});

test('kill -9 of the call ends its run, and leaves nothing', { grace: 200 }, async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { test: `setsid sleep 300 & ${gate.script}` });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree, detached: true });
  await gate.reached();
  p.kill('SIGKILL', { group: true });
  await nobody(s);
  const d = await s.ok(['done', '--cancel'], { cwd: tree });
  assert.equal(d.cancelled, false);
  assert.ok(r.hasStore());
});

test('kill -9 of a call with --detach-after ends nothing', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const p = s.spawnAbide(['done', '--json', '--detach-after', '600'], { cwd: tree, detached: true });
  await gate.reached();
  p.kill('SIGKILL', { group: true });
  await p.done();
  await staysFalse(() => runners(s).length === 0, { ms: 300, what: 'the runner ends with its caller' });
  await gate.release(0);
  await nobody(s);
  assert.equal((await s.ok(['done'], { cwd: tree })).gate_ran, false);
});

test('whoever joined a run that died with its caller starts over', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const owner = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const guest = s.spawnAbide(['done', '--json'], { cwd: tree });
  await guest.idle();
  owner.kill('SIGKILL');
  await gate.reached(2);
  await gate.release(0);
  const d = (await guest.done()).json.data;
  assert.equal(d.verdict, 'passed');
  assert.equal(d.joined, false);
});

test('a run that was joined with --detach-after survives the call that began it', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const owner = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  assert.equal((await s.ok(['done', '--detach-after', '0'], { cwd: tree })).joined, true);
  owner.kill('SIGKILL');
  await owner.done();
  await staysFalse(() => runners(s).length === 0, { ms: 300, what: 'the runner ends with its caller' });
  await gate.release(0);
  await nobody(s);
  assert.equal((await s.ok(['done'], { cwd: tree })).gate_ran, false);
});

test('kill -9 of the runner: interrupted, nothing left, the next call starts over', { grace: 200 }, async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: `setsid sleep 300 & ${gate.script}` });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  const job = await gate.reached();
  for (const runner of runners(s)) process.kill(runner.pid, 'SIGKILL');
  const x = await p.done();
  assert.equal(x.json.error, 'interrupted');
  assert.equal(x.json.data.verdict, 'interrupted');
  await nobody(s);
  assert.ok(!alive(job));
  const again = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached(2);
  await gate.release(0);
  const d = (await again.done()).json.data;
  assert.equal(d.verdict, 'passed');
  assert.notEqual(d.run, x.json.data.run);
});

test('a detached run whose runner was killed is not running any more', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  await s.ok(['done', '--detach-after', '0'], { cwd: tree });
  await gate.reached();
  for (const runner of runners(s)) process.kill(runner.pid, 'SIGKILL');
  await nobody(s);
  assert.equal((await s.ok(['done', '--cancel'], { cwd: tree })).cancelled, false);
});

test('kill -9 of a shepherd: no verdict, and its herd is ended', { grace: 200 }, async (s) => {
  const gate = s.fifo();
  const file = s.write('pids', '');
  const { tree } = await task(s, { test: `setsid sleep 300 & echo $! >>${file}; sleep 301 & echo $! >>${file}; ${gate.script}` });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  const job = await gate.reached();
  for (const shepherd of ours(s, '__shepherd')) process.kill(shepherd.pid, 'SIGKILL');
  const x = await p.done();
  assert.equal(x.json.error, 'gate_infrastructure');
  assert.match(x.json.data.jobs[0].trouble, /signal 9/);
  for (const pid of [job, ...readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number)]) assert.ok(!alive(pid), `${pid} lives`);
});

test('a job that stops its shepherd is ended all the same', { grace: 200 }, async (s) => {
  const { tree } = await task(s, { test: { run: 'kill -STOP $PPID; sleep 300', timeout: '2s' } });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.equal(e.data.jobs[0].state, 'timed_out');
});

for (const seam of ['gate:created', 'gate:claimed', 'gate:verdict']) {
  test(`killed at ${seam}, the run is interrupted and the next call starts over`, async (s) => {
    const ran = s.write('ran', '');
    const { tree } = await task(s, { test: `echo x >>${ran}` });
    const x = await s.abide(['done', '--json'], { cwd: tree, env: { ABIDE_TEST_KILL_AT: seam } });
    if (x.signal) assert.equal(seam, 'gate:created');
    else assert.equal(x.json.error, 'interrupted');
    await nobody(s);
    const d = await s.ok(['done'], { cwd: tree });
    assert.equal(d.gate_ran, true);
    assert.equal(d.joined, false);
    assert.equal(count(ran), seam === 'gate:verdict' ? 2 : 1);
  });
}

test('killed after the verdict was recorded, it stands', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  const x = await s.abide(['done', '--json'], { cwd: tree, env: { ABIDE_TEST_KILL_AT: 'gate:recorded' } });
  assert.equal(x.json.data.verdict, 'passed');
  assert.equal((await s.ok(['done'], { cwd: tree })).gate_ran, false);
});

test('a newer commit ends the run of the older one in the same worktree', async (s) => {
  const gate = s.fifo();
  const { r, tree, tip } = await task(s, { test: gate.script });
  const old = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const next = r.commit({ 'more.txt': '1' }, 'more', { cwd: tree });
  const young = s.spawnAbide(['done', '--json'], { cwd: tree });
  const x = await old.done();
  assert.equal(x.json.error, 'cancelled');
  assert.equal(x.json.data.commit, tip);
  assert.match(x.json.message, /newer commit/);
  await gate.reached(2);
  await gate.release(0);
  assert.equal((await young.done()).json.data.commit, next);
});

test('a commit made while the gate runs takes the proof away', async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { test: gate.script });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  r.commit({ 'more.txt': '1' }, 'more', { cwd: tree });
  await gate.release(0);
  assert.equal((await p.done()).json.error, 'gate_dirtied');
});

test('the same works where file events cannot be had', async (s) => {
  const gate = s.fifo();
  const env = { ABIDE_TEST_POLLING: '1' };
  const { tree } = await task(s, { test: gate.script, next: { run: 'true', needs: ['test'] } });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree, env });
  await gate.reached();
  await gate.release(0);
  assert.equal((await p.done()).json.data.verdict, 'passed');
  const other = s.spawnAbide(['done', '--rerun', '--json'], { cwd: tree, env });
  await gate.reached(2);
  await s.ok(['done', '--cancel'], { cwd: tree, env });
  assert.equal((await other.done()).json.error, 'cancelled');
});

test('a place in the job budget is free again when its runner is killed', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ yaml: 'gate_parallel: 1\n', gate: { test: '. ./job.sh' } });
  const trees = ['a', 'b'].map((name) => {
    const tree = r.worktree(name);
    r.commit({ 'job.sh': name === 'a' ? gate.script : 'true\n' }, 'work', { cwd: tree });
    return tree;
  });
  const a = s.spawnAbide(['done', '--json'], { cwd: trees[0] });
  await gate.reached();
  const [runner] = runners(s);
  const b = s.spawnAbide(['done', '--json'], { cwd: trees[1] });
  await waitFor(() => runners(s).length === 2, { what: 'the second runner' });
  process.kill(runner.pid, 'SIGKILL');
  assert.equal((await a.done()).json.error, 'interrupted');
  assert.equal((await b.done()).json.data.verdict, 'passed');
});

test('neither runner nor shepherd stands in the worktree, and the logs stay private', async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { test: gate.script });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const keepers = [...runners(s), ...ours(s, '__shepherd')];
  assert.equal(keepers.length, 2);
  for (const k of keepers) assert.equal(readlinkSync(`/proc/${k.pid}/cwd`), '/');
  // A shepherd and its job hold no descriptor of the store or of other jobs.
  const job = gate.arrivals() && Number(readFileSync(`${gate.path}.at`, 'utf8'));
  assert.deepEqual(readdirSync(`/proc/${job}/fd`).map(Number).filter((fd) => fd > 2 && !readlinkSync(`/proc/${job}/fd/${fd}`).includes('fifo')), []);
  await gate.release(0);
  const d = (await p.done()).json.data;
  assert.equal(statSync(d.log_dir).mode & 0o777, 0o700);
  assert.equal(statSync(d.jobs[0].log).mode & 0o777, 0o600);
  await nobody(s);
  assert.deepEqual(readdirSync(d.log_dir), ['test.log']);
  assert.equal(d.log_dir, join(r.store, 'logs', String(d.run)));
});

test('the runner is this very program, whatever argv[0] says and though its file was replaced', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  const copy = s.path('copied-abide');
  await s.sh(`cp "$(readlink -f '${join(s.dir, 'bin/abide')}')" '${copy}'`);
  const x = await s.run('bash', ['-c', `exec -a nonsense '${copy}' done --json`], { cwd: tree });
  assert.equal(JSON.parse(x.stdout).data.verdict, 'passed');
  const stopped = s.spawn(copy, ['done', '--rerun', '--json'], { cwd: tree, env: { ABIDE_TEST_STOP_AT: 'gate:created' } });
  await waitFor(() => /^\d+ \(.*\) T/s.test(readFileSync(`/proc/${stopped.pid}/stat`, 'utf8')), { what: 'it stands still' });
  await s.sh(`rm '${copy}'; printf '#!/bin/sh\\nexit 1\\n' >'${copy}'; chmod +x '${copy}'`);
  stopped.kill('SIGCONT');
  const y = await stopped.done();
  assert.equal(JSON.parse(y.stdout).data.verdict, 'passed');
});

test('a job that calls done on its own commit is told, instead of waiting for itself', async (s) => {
  const { tree } = await task(s, { test: 'abide done --json; echo status $?' });
  const d = await s.ok(['done'], { cwd: tree });
  const said = readFileSync(d.jobs[0].log, 'utf8').split('\n');
  assert.equal(JSON.parse(said[0]).error, 'busy');
  assert.equal(said[1], 'status 1');
});

test('a runner that was not started by done does nothing', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: gate.script });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  const d = await s.ok(['done', '--detach-after', '0'], { cwd: tree });
  await s.refused(['__gate', String(d.run)], 'invalid_arguments', { cwd: tree });
  await s.refused(['__gate', 'x'], 'invalid_arguments', { cwd: tree });
  await gate.release(0);
  assert.equal((await p.done()).json.data.verdict, 'passed');
});

test('a store that gives no place in the job budget ends in no verdict, not in a wait for ever', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  const e = await s.refused(['done'], 'gate_infrastructure', { cwd: tree, env: { ABIDE_TEST_FAIL_AT: 'gate:place' } });
  assert.match(e.data.jobs[0].trouble, /lets the store fail/);
});
