// What the tables share: a sandbox, timing by `measure`, taking turns, printing.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox, abideBin } from '../e2e/lib/sandbox.mjs';
import { Repo } from '../e2e/lib/repo.mjs';

export const measure = process.env.ABIDE_BENCH_MEASURE;
const scale = Number(process.env.ABIDE_BENCH_SCALE ?? 1);

export { abideBin };
export const seconds = Number(process.env.ABIDE_BENCH_SECONDS ?? 20);
/** How often something is done: n, scaled by the environment, at least once. */
export const rounds = (n) => Math.max(1, Math.round(n * scale));
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Everything that one table needs; ends with the sandbox. */
export class Bench {
  constructor() { this.s = new Sandbox(); }

  #environment(env) {
    const all = { ...this.s.env, ...env };
    delete all.ASAN_OPTIONS;
    return all;
  }

  #measured(args, { cwd = this.s.dir, env, ok = [0] }) {
    const r = spawnSync(measure, args, { cwd, env: this.#environment(env), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    const [us, code] = (r.stdout ?? '').trim().split(' ').map(Number);
    if (r.status !== 0 || !ok.includes(code)) throw new Error(`${args.join(' ')}: exit ${code}\n${r.stderr}`);
    return us / 1000;
  }

  /** Milliseconds that a command takes. options: cwd, env, ok (accepted exit statuses). */
  time(argv, options = {}) { return this.#measured(['run', ...argv], options); }
  /** The same for shell text. */
  shell(text, options = {}) { return this.time(['/bin/sh', '-ec', text], options); }

  /**
   * Milliseconds from the last of some moves of a ref to the end of a command that waits for it.
   * The command is left asleep for `wait` ms first; the moves are `gap` ms apart.
   */
  wake(repo, ref, oids, argv, { wait = 0, gap = 0, ...options } = {}) {
    const files = oids.map((oid, i) => {
      const path = join(repo.gitDir, `bench-${i}`);
      writeFileSync(path, `${oid}\n`);
      return path;
    });
    return this.#measured(
      ['wake', join(repo.gitDir, ref), String(Math.round(gap * 1000)), String(Math.round(wait)), ...files, '--', ...argv],
      { cwd: repo.dir, ...options },
    );
  }

  /** A plain repository with one commit. */
  repo(name = 'repo', files = { README: 'a repository\n' }, init = []) {
    const dir = this.s.path(name);
    this.s.git(['init', '--quiet', '-b', 'main', ...init, dir]);
    for (const [path, text] of Object.entries(files)) this.s.write(join(dir, path), text);
    this.s.git(['add', '-A'], { cwd: dir });
    this.s.git(['commit', '--quiet', '-m', 'first'], { cwd: dir });
    return new Repo(this.s, { dir });
  }

  /** Whether the program knows a verb. */
  has(verb) {
    const r = spawnSync(abideBin, ['help', verb], { env: this.s.env, cwd: this.s.dir });
    return r.status === 0;
  }
}

/** Processor time of a living process, without its children, in ms. */
export const ownCpu = (pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
/** The same with the children it has waited for, in ms; in steps of 10. */
export function treeCpu(pid) {
  const f = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  return (Number(f[13]) + Number(f[14])) * 10 + ownCpu(pid);
}

export function quantile(values, q) {
  const v = [...values].sort((a, b) => a - b);
  return v[Math.min(v.length - 1, Math.max(0, Math.ceil(q * v.length) - 1))];
}
export const median = (values) => quantile(values, 0.5);

/**
 * Lets contenders take turns, so that what else the machine does meets all alike. contenders:
 * {name: {n, once}}: once() gives a number, n times. Returns {name: numbers}.
 */
export async function turns(contenders) {
  const got = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  const most = Math.max(...Object.values(contenders).map((c) => c.n));
  for (let i = 0; i < most; i++) {
    for (const [name, c] of Object.entries(contenders)) {
      // Those with fewer rounds are spread over all.
      if (Math.floor(((i + 1) * c.n) / most) > Math.floor((i * c.n) / most)) got[name].push(await c.once(i));
    }
  }
  return got;
}

const show = (x) => (x === undefined || Number.isNaN(x) ? '' : x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));

/** Prints rows of cells under a head, aligned; numbers to the right. */
export function print(head, rows) {
  const cells = [head, ...rows].map((row) => row.map((c) => (typeof c === 'number' ? show(c) : String(c ?? ''))));
  const width = head.map((_, i) => Math.max(...cells.map((row) => [...row[i]].length)));
  const right = head.map((_, i) => i > 0 && rows.every((row) => typeof row[i] === 'number' || row[i] === undefined || /^[\d.–-]*$/.test(row[i])));
  const line = (row) => row.map((c, i) => (right[i] ? ' '.repeat(width[i] - [...c].length) + c : c + ' '.repeat(width[i] - [...c].length))).join('  ').trimEnd();
  console.log(line(cells[0]));
  console.log(width.map((w) => '-'.repeat(w)).join('  '));
  for (const row of cells.slice(1)) console.log(line(row));
}

/** The usual table: medians with spread, and each against the row called `base`. */
export function printTurns(got, { base = Object.keys(got)[0], unit = 'ms' } = {}) {
  print(
    ['', 'rounds', `median ${unit}`, 'p10–p90', 'p99', `times ${base}`],
    Object.entries(got).map(([name, v]) => [
      name, String(v.length), median(v), `${show(quantile(v, 0.1))}–${show(quantile(v, 0.9))}`, quantile(v, 0.99), median(v) / median(got[base]),
    ]),
  );
}

/** Says whether a number that was to be reached was reached. */
export function reach(what, value, most, unit = 'ms') {
  console.log(`${value <= most ? 'reached' : 'MISSED '}  ${what}: ${show(value)} ${unit}, to reach ≤ ${most}`);
}

/** Runs one table: title, what it takes (verbs), and the work. */
export async function table(title, { needs = [] }, work) {
  console.log(`## ${title}`);
  const b = new Bench();
  try {
    const missing = needs.filter((verb) => !b.has(verb));
    if (missing.length > 0) console.log(`left out: this program has no ${missing.join(', ')}`);
    else await work(b);
  } catch (error) {
    console.log(`failed: ${error.stack}`);
    process.exitCode = 1;
  }
  await b.s.close();
}
