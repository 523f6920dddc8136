// Many waits, and a storm of updates of refs that none of them asked about.
import { readFileSync, writeFileSync } from 'node:fs';
import { abideBin, ownCpu, print, reach, rounds, sleep, table } from './lib.mjs';

const gitHas = (b, format) => b.s.git(['init', '-q', `--ref-format=${format}`, b.s.path(`try-${format}`)], { ok: [128, 129] }).code === 0;

async function storm(b, name, init, waits, updates) {
  const r = b.repo(name, { README: 'x\n' }, init);
  r.commitOn('feature', { 'a.txt': '1\n' });
  const real = (await b.s.sh('PATH=${PATH#*:} command -v git')).trim();
  const log = b.s.write(`${name}.log`, '');
  b.s.program('git', `echo >>'${log}'\nexec '${real}' "$@"`);
  const count = () => readFileSync(log, 'utf8').length;
  const oid = r.head();
  const tip = r.head('feature');
  const flips = Array.from({ length: updates }, (_, i) => `start\nupdate refs/heads/noise/${i % 50} ${Math.floor(i / 50) % 2 ? oid : tip}\ncommit\n`).join('');
  const blow = () => b.s.run(real, ['update-ref', '--stdin'], { cwd: r.dir, input: flips, timeout: 600000 });
  await blow(); // the folder is there, and what it costs without waits:
  const calm = (await blow()).ms;
  const all = Array.from({ length: waits }, () => b.s.spawn(abideBin, ['await', '--landed', 'feature', '--fresh', '--timeout', '600'], { cwd: r.dir, stdin: 'ignore' }));
  for (const p of all) await p.idle({ timeout: 120000 });
  await sleep(1500);
  writeFileSync(log, '');
  const cpu = all.reduce((sum, p) => sum + ownCpu(p.pid), 0);
  const busy = (await blow()).ms;
  await sleep(1500);
  const spawned = count();
  const spent = all.reduce((sum, p) => sum + ownCpu(p.pid), 0) - cpu;
  for (const p of all) p.kill('SIGKILL');
  for (const p of all) await p.done();
  b.s.program('git', `exec '${real}' "$@"`);
  return { spawned, calm, busy, spent };
}

await table('200 waits, 1,000 updates of other refs', { needs: ['await'] }, async (b) => {
  const waits = rounds(200);
  const rows = [];
  const add = async (name, init) => {
    const x = await storm(b, name, init, waits, 1000);
    rows.push([name, String(waits), String(x.spawned), x.spawned / waits, x.spent, x.calm, x.busy]);
    return x;
  };
  const files = await add('files', []);
  const tables = gitHas(b, 'reftable') ? await add('reftable', ['--ref-format=reftable']) : null;
  print(['refs', 'waits', 'git processes', 'a wait', 'CPU of all waits, ms', 'storm alone, ms', 'with waits, ms'], rows);
  reach('git processes, files', files.spawned, 0, '');
  if (tables) reach('git processes a wait, reftable', tables.spawned / waits, 20, '');
  else console.log('left out: this git has no reftable');
});
