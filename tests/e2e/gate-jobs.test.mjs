// Jobs: order, budget, time-outs, what they get, what they leave behind.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, assert, alive, waitFor } from './lib/index.mjs';

async function task(s, gate, { files = { 'work.txt': 'work\n' }, branch = 'feature', ...more } = {}) {
  const r = await s.repo({ gate, ...more });
  const tree = r.worktree(branch);
  const tip = r.commit(files, 'work', { cwd: tree });
  return { r, tree, tip };
}
const states = (data) => Object.fromEntries(data.jobs.map((j) => [j.name, j.state]));
const pids = (path) => readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number);

test('a job runs in the root of the worktree, with the task in its environment and no input', async (s) => {
  const { tree } = await task(s, { test: 'pwd; env | grep ^ABIDE_ | grep -v ^ABIDE_TEST | sort; cat; echo "stdin is at its end"' });
  const d = await s.ok(['done'], { cwd: tree });
  assert.deepEqual(readFileSync(d.jobs[0].log, 'utf8').split('\n'), [tree, 'ABIDE_BRANCH=feature', 'ABIDE_ID=feature', 'ABIDE_PORT=',
    'ABIDE_TASK_TRUNK=main', `ABIDE_WORKTREE=${tree}`, 'stdin is at its end', '']);
});

test('jobs see none of the variables by which git is told a repository', async (s) => {
  const { r, tree, tip } = await task(s, { test: 'env | grep -E "^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|PREFIX|CONFIG_(COUNT|KEY|VALUE|PARAMETERS))" && exit 9; git rev-parse HEAD' });
  const other = await s.repo({ name: 'other' });
  const env = {
    GIT_DIR: other.gitDir, GIT_WORK_TREE: other.dir, GIT_INDEX_FILE: join(other.gitDir, 'index'), GIT_PREFIX: 'x/',
    GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*', GIT_CONFIG_PARAMETERS: "'core.abbrev'='7'",
  };
  const d = await s.ok(['done'], { cwd: tree, env });
  assert.equal(readFileSync(d.jobs[0].log, 'utf8').trim(), tip);
  assert.equal(d.commit, r.tip('feature'));
});

test('done from inside a hook of another worktree judges its own task', async (s) => {
  const { r, tree } = await task(s, { test: 'git rev-parse --show-toplevel' });
  const other = r.worktree('other');
  s.write(join(r.gitDir, 'hooks/pre-commit'), `#!/bin/sh\nabide -C '${tree}' done --json >'${s.path('answer')}'\n`, { mode: 0o755 });
  await s.sh('echo 1 >f; git add f; git commit -qm x', { cwd: other });
  const d = JSON.parse(readFileSync(s.path('answer'), 'utf8')).data;
  assert.equal(readFileSync(d.jobs[0].log, 'utf8').trim(), tree);
});

test('jobs run in the order of what they need', async (s) => {
  const order = s.write('order', '');
  const job = (name, needs = []) => ({ run: `echo ${name} >>${order}`, needs });
  const { tree } = await task(s, { d: job('d', ['b', 'c']), c: job('c', ['a']), b: job('b', ['a']), a: job('a') });
  await s.ok(['done'], { cwd: tree });
  const seen = readFileSync(order, 'utf8').split('\n').filter(Boolean);
  assert.equal(seen.length, 4);
  assert.equal(seen[0], 'a');
  assert.equal(seen[3], 'd');
});

test('after a failure what needs it is skipped, and everything else still tells its verdict', async (s) => {
  const { tree } = await task(s, { bad: 'exit 1', child: { run: 'true', needs: ['bad'] }, grandchild: { run: 'true', needs: ['child'] },
    good: 'true', worse: { run: 'exit 2', needs: ['good'] } });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.deepEqual(states(e.data), { bad: 'failed', child: 'skipped', grandchild: 'skipped', good: 'passed', worse: 'failed' });
  assert.match(e.message, /`bad` failed.*`worse` failed/);
});

test('independent jobs of one gate run at once', async (s) => {
  const one = s.fifo();
  const two = s.fifo();
  const { tree } = await task(s, { one: one.script, two: two.script }, { yaml: 'gate_parallel: 2\n' });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await one.reached();
  await two.reached();
  await one.release(0);
  await two.release(0);
  assert.equal((await p.done()).json.data.verdict, 'passed');
});

test('eight tasks at once never run more jobs than the budget, and all get their verdict', async (s) => {
  const now = s.write('now', '0\n');
  const most = s.write('most', '0\n');
  const lock = s.write('lock', '');
  const script = [
    `flock ${lock} sh -c 'n=$(($(cat ${now})+1)); echo $n >${now}; [ $n -le $(cat ${most}) ] || echo $n >${most}'`,
    'head -c 300000 /dev/urandom | sha256sum >/dev/null',
    `flock ${lock} sh -c 'echo $(($(cat ${now})-1)) >${now}'`,
  ].join('\n');
  const r = await s.repo({ gate: { one: script, two: script }, yaml: 'gate_parallel: 2\n' });
  const trees = Array.from({ length: 8 }, (_, i) => {
    const tree = r.worktree(`t${i}`);
    r.commit({ [`f${i}`]: '1' }, 'work', { cwd: tree });
    return tree;
  });
  const results = await Promise.all(trees.map((cwd) => s.ok(['done'], { cwd })));
  assert.deepEqual(results.map((d) => d.verdict), Array(8).fill('passed'));
  assert.equal(readFileSync(most, 'utf8').trim(), '2');
  assert.equal(readFileSync(now, 'utf8').trim(), '0');
});

test('places in the job budget are given first come, first served', async (s) => {
  const order = s.write('order', '');
  const holder = s.fifo();
  const r = await s.repo({ yaml: 'gate_parallel: 1\n', gate: { test: '. ./job.sh' } });
  const started = [];
  for (const name of ['a', 'b', 'c']) {
    const tree = r.worktree(name);
    r.commit({ 'job.sh': name === 'a' ? holder.script : `echo ${name} >>${order}\n` }, 'work', { cwd: tree });
    started.push(s.spawnAbide(['done', '--json'], { cwd: tree }));
    if (name === 'a') await holder.reached();
    else await waitFor(() => inQueue(r) >= started.length, { what: `${name} queues` });
  }
  await holder.release(0);
  for (const p of started) assert.equal((await p.done()).json.data.verdict, 'passed');
  assert.equal(readFileSync(order, 'utf8'), 'b\nc\n');
});

// How many stand in the queue of the job budget, running ones included.
function inQueue(r) {
  const db = new DatabaseSync(join(r.store, 'state.db'), { readOnly: true });
  try {
    return db.prepare("SELECT count(*) AS n FROM place WHERE queue = 'jobs'").get().n;
  } finally {
    db.close();
  }
}

const nasty = {
  'children of the shell': 'sleep 300 & echo $! >>PIDS; echo $$ >>PIDS; sleep 301',
  'a session of its own': 'setsid sleep 300 & sleep 0; setsid sh -c \'echo $$ >>PIDS; exec sleep 302\' & wait',
  'nohup and no answer to TERM': 'trap "" TERM HUP; (trap "" TERM; echo $(exec sh -c \'echo $PPID\') >>PIDS; while :; do sleep 1; done) & echo $$ >>PIDS; while :; do sleep 1; done',
  'a daemon that closed everything': '(setsid sh -c \'echo $$ >>PIDS; exec sleep 303\' <&- >&- 2>&- &) ; sleep 304',
};
for (const [what, script] of Object.entries(nasty)) {
  test(`a time-out ends ${what} before the verdict`, { grace: 200 }, async (s) => {
    const file = s.write('pids', '');
    const { tree } = await task(s, { slow: { run: script.replaceAll('PIDS', file), timeout: '2s' } });
    const e = await s.refused(['done'], 'gate_red', { cwd: tree });
    assert.deepEqual(states(e.data), { slow: 'timed_out' });
    assert.match(e.message, /`slow` ran out of time/);
    assert.ok(pids(file).length > 0);
    for (const pid of pids(file)) assert.ok(!alive(pid), `${pid} lives`);
  });
}

test('what a job leaves running when it ends is ended, and does not hold up the verdict', { grace: 200 }, async (s) => {
  const file = s.write('pids', '');
  const { tree } = await task(s, { test: `sleep 300 & echo $! >>${file}; setsid sleep 300 & echo $! >>${file}; echo done` });
  const d = await s.ok(['done'], { cwd: tree });
  assert.equal(readFileSync(d.jobs[0].log, 'utf8'), 'done\n');
  for (const pid of pids(file)) assert.ok(!alive(pid), `${pid} lives`);
});

test('a job that never ends may have no time-out', async (s) => {
  const gate = s.fifo();
  const { tree } = await task(s, { test: { run: gate.script, timeout: 'none' } });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  await gate.release(0);
  assert.equal((await p.done()).json.data.verdict, 'passed');
});

test('a command that is missing is a failure of the job, not of the machine', async (s) => {
  const { tree } = await task(s, { test: 'no-such-command-here' });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.equal(e.data.jobs[0].exit, 127);
  assert.match(e.data.jobs[0].tail, /not found/);
});

test('a job killed by a signal is a failure with 128 and the signal', async (s) => {
  const { tree } = await task(s, { test: 'kill -SEGV $$' });
  assert.equal((await s.refused(['done'], 'gate_red', { cwd: tree })).data.jobs[0].exit, 139);
});

test('a job ends by SIGPIPE as it would anywhere', async (s) => {
  const { tree } = await task(s, { test: 'sh -c "kill -PIPE \\$\\$"; test $? -eq 141' });
  await s.ok(['done'], { cwd: tree });
});

test('without a shell there is no verdict', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  await s.sh('mkdir only; ln -s "$(command -v git)" only/git');
  const e = await s.refused(['done'], 'gate_infrastructure', { cwd: tree, env: { PATH: join(s.dir, 'only') } });
  assert.deepEqual(states(e.data), { test: 'infrastructure' });
  assert.match(e.data.jobs[0].trouble, /shell/);
  assert.equal((await s.ok(['done'], { cwd: tree })).gate_ran, true);
});

test('a worktree whose folder goes meanwhile gives no verdict', async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { first: gate.script, second: { run: 'true', needs: ['first'] } });
  const p = s.spawnAbide(['done', '--json', 'feature'], { cwd: r.dir });
  await gate.reached();
  await s.sh(`mv '${tree}' '${tree}.gone'`);
  await gate.release(0);
  const e = (await p.done()).json;
  assert.equal(e.error, 'gate_infrastructure');
  assert.deepEqual(states(e.data), { first: 'passed', second: 'infrastructure' });
});

test('a job that cannot be forked gives no verdict', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  await s.refused(['done'], 'gate_infrastructure', { cwd: tree, env: { ABIDE_TEST_FAIL_AT: 'gate:spawn' } });
});

test('what a job changes in the worktree takes the proof away and is told by job', async (s) => {
  const { tree } = await task(s, { a: 'true', b: { run: 'echo 1 >made; echo 2 >work.txt', needs: ['a'] }, c: { run: 'true', needs: ['b'] } });
  const e = await s.refused(['done'], 'gate_dirtied', { cwd: tree });
  assert.deepEqual(e.data.dirtied_by, ['b']);
  assert.deepEqual(e.data.dirtied.sort(), ['made', 'work.txt']);
  assert.equal(e.data.verdict, 'dirtied');
  assert.match(e.message, /job `b` ran/);
  await s.refused(['done'], 'dirty_worktree', { cwd: tree });
  s.git(['stash', '-qu'], { cwd: tree });
  assert.equal((await s.refused(['done'], 'gate_dirtied', { cwd: tree })).data.dirtied_total, 2);
});

test('of jobs that ran side by side all are named', async (s) => {
  const one = s.fifo();
  const two = s.fifo();
  const { tree } = await task(s, { one: `echo x >made; ${one.script}`, two: two.script }, { yaml: 'gate_parallel: 2\n' });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await one.reached();
  await two.reached();
  await one.release(0);
  await two.release(0);
  assert.deepEqual((await p.done()).json.data.dirtied_by.sort(), ['one', 'two']);
});

test('a job may make a file that a later one puts away', async (s) => {
  const { tree } = await task(s, { a: 'echo 1 >made', b: { run: 'rm made', needs: ['a'] } });
  await s.ok(['done'], { cwd: tree });
});

test('a job that stages, commits or switches the branch takes the proof away', async (s) => {
  const { r, tree, tip } = await task(s, { test: 'test ! -f "$SCRIPT" || . "$SCRIPT"' });
  const script = s.path('script.sh');
  const restore = () => s.sh(`git checkout -qf feature; git reset -q --hard ${tip}; git clean -qfd`, { cwd: tree });
  for (const [text, pattern] of [['git rm -q --cached work.txt; echo work.txt >>"$(git rev-parse --git-path info/exclude)"', /work\.txt/],
    ['git commit -q --allow-empty -m sneaky', /HEAD is [0-9a-f]{40} instead of/], ['git checkout -q --detach', /HEAD is detached/]]) {
    writeFileSync(script, text);
    const e = await s.refused(['done'], 'gate_dirtied', { cwd: tree, env: { SCRIPT: script } });
    assert.match(e.message, pattern);
    await restore();
  }
  assert.equal(r.tip('feature'), tip);
});

test('a failing job that also leaves files is red, and the files are told', async (s) => {
  const { tree } = await task(s, { test: 'echo core >core.1; exit 3' });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.deepEqual(e.data.dirtied, ['core.1']);
});

test('of 50 MB of output the head and the tail are kept', async (s) => {
  const { tree } = await task(s, { loud: 'echo begin; yes "a line of output that is fifty bytes long, or nearly" | head -n 1000000; echo end; exit 1' });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  const [job] = e.data.jobs;
  const text = readFileSync(job.log, 'utf8');
  assert.ok(statSync(job.log).size < 2.2 * 1024 * 1024 && statSync(job.log).size > 2 * 1024 * 1024);
  assert.ok(text.startsWith('begin\n'));
  assert.ok(text.endsWith('\nend\n'));
  assert.match(text, /\[… \d+ bytes left out …\]/);
  assert.ok(job.tail.endsWith('\nend'));
  assert.ok(job.tail.length <= 8192);
});

test('output that is no UTF-8 and has no lines is told as well as can be', async (s) => {
  const { tree } = await task(s, { odd: 'head -c 100000 /dev/zero | tr "\\0" "\\377"; exit 1' });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.match(e.data.jobs[0].tail, /^\ufffd+$/);
  assert.equal(statSync(e.data.jobs[0].log).size, 100000);
});

test('a job whose log cannot be written is judged all the same', { skip: process.getuid() !== 0 && 'not root' }, async (s) => {
  const gate = s.fifo();
  const { r, tree } = await task(s, { first: gate.script, second: { run: 'echo hello; exit 4', needs: ['first'] } });
  const p = s.spawnAbide(['done', '--json'], { cwd: tree });
  await gate.reached();
  await s.sh(`rm -r '${join(r.store, 'logs/1')}'; echo >'${join(r.store, 'logs/1')}'`);
  await gate.release(0);
  const { json } = await p.done();
  assert.equal(json.error, 'gate_red');
  assert.equal(json.data.jobs[1].tail, 'hello');
  await s.sh(`rm '${join(r.store, 'logs/1')}'`);
});

test('a script that begins with a dash is no option of the shell', async (s) => {
  s.program('-x', 'echo dashed');
  const { r, tree } = await task(s, { test: 'true' });
  r.commit({ 'abide.yaml': 'gate: [{name: test, run: "-x"}]\n' }, 'gate', { cwd: tree });
  const d = await s.ok(['done'], { cwd: tree });
  assert.equal(readFileSync(d.jobs[0].log, 'utf8'), 'dashed\n');
});

test('hooks of git that fail or print change no verdict', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  for (const name of ['post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction']) {
    s.write(join(r.gitDir, 'hooks', name), '#!/bin/sh\necho noise; exit 1\n', { mode: 0o755 });
  }
  assert.equal((await s.ok(['done'], { cwd: tree })).verdict, 'passed');
  assert.ok(!existsSync(join(r.gitDir, 'index.lock')));
});
