// Child processes: run to the end, or keep and talk to.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { waitFor } from './wait.mjs';

/** A running child whose output is kept. Made by Sandbox.spawn and Sandbox.spawnAbide. */
export class Child {
  #out = '';
  #err = '';
  #wakers = new Set();

  constructor(file, args, { cwd, env, stdin = 'pipe', detached = false } = {}) {
    this.argv = [file, ...args];
    this.started = performance.now();
    this.process = spawn(file, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'], detached });
    this.pid = this.process.pid;
    this.process.stdout.setEncoding('utf8').on('data', (s) => { this.#out += s; this.#changed(); });
    this.process.stderr.setEncoding('utf8').on('data', (s) => { this.#err += s; this.#changed(); });
    this.process.stdin?.on('error', () => {}); // the child may end before it has read everything
    this.result = null;
    this.#done = new Promise((resolve, reject) => {
      this.process.on('error', reject);
      this.process.on('close', (code, signal) => {
        this.result = {
          argv: this.argv, code, signal, stdout: this.#out, stderr: this.#err,
          ms: performance.now() - this.started,
        };
        this.#changed();
        resolve(this.result);
      });
    });
    this.#done.catch(() => {});
  }
  #done;
  #changed() {
    for (const wake of this.#wakers) wake();
  }

  stdout() { return this.#out; }
  stderr() { return this.#err; }
  write(text) { this.process.stdin.write(text); return this; }
  end(text) { this.process.stdin.end(text); return this; }

  /** Sends a signal to the child (or to its group when it was made with detached: true and group). */
  kill(signal = 'SIGTERM', { group = false } = {}) {
    try { process.kill(group ? -this.pid : this.pid, signal); } catch (error) { if (error.code !== 'ESRCH') throw error; }
    return this;
  }

  /** The end: {code, signal, stdout, stderr, ms}. Kills and fails after `timeout` ms. */
  async done({ timeout = 60000 } = {}) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        this.kill('SIGKILL');
        reject(new Error(`still running after ${timeout} ms: ${this.argv.join(' ')}\nstdout: ${this.#out}\nstderr: ${this.#err}`));
      }, timeout);
    });
    try { return await Promise.race([this.#done, late]); } finally { clearTimeout(timer); }
  }

  /**
   * Waits until the output (stream: 'stdout', 'stderr' or 'both') has a line matching pattern (text,
   * expression or function) and returns that line; with an expression, its match.
   */
  async line(pattern, { stream = 'both', timeout = 20000 } = {}) {
    const find = () => {
      const text = stream === 'stdout' ? this.#out : stream === 'stderr' ? this.#err : this.#out + '\n' + this.#err;
      for (const line of text.split('\n')) {
        if (pattern instanceof RegExp) { const m = line.match(pattern); if (m) return m; }
        else if (typeof pattern === 'function' ? pattern(line) : line.includes(pattern)) return line;
      }
      return null;
    };
    const end = Date.now() + timeout;
    for (;;) {
      const hit = find();
      if (hit !== null) return hit;
      if (this.result || Date.now() >= end) {
        throw new Error(`${this.result ? `ended (code ${this.result.code}, signal ${this.result.signal})` : `nothing after ${timeout} ms`} `
          + `without a line matching ${pattern}\nstdout: ${this.#out}\nstderr: ${this.#err}`);
      }
      await new Promise((resolve) => {
        const wake = () => { clearTimeout(timer); this.#wakers.delete(wake); resolve(); };
        const timer = setTimeout(wake, end - Date.now());
        this.#wakers.add(wake);
      });
    }
  }

  /** Every complete stdout line parsed as JSON (streams, JSON-RPC). */
  jsonLines() {
    return this.#out.split('\n').slice(0, -1).filter(Boolean).map((line) => JSON.parse(line));
  }

  /** Proportional memory in kB, read now. */
  pss() { return pss(this.pid); }
  /** The kernel's letter for its state: S sleeping, T stopped, … ; '' when it is gone. */
  state() { return statOf(this.pid)?.state ?? ''; }
  /** Process ids of the direct children, read now. */
  children() { return children(this.pid); }
  /** Waits until the process sleeps in the kernel with no child: it has armed and is waiting. */
  async idle({ timeout = 20000 } = {}) {
    let calm = 0;
    await waitFor(() => {
      const sleeping = /^\d+ \(.*\) S/s.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8')) && this.children().length === 0;
      calm = sleeping ? calm + 1 : 0;
      return calm >= 5;
    }, { timeout, what: `process ${this.pid} waits` });
    return this;
  }
}

export function pss(pid) {
  return Number(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+)/m)[1]);
}

/** Process ids of the direct children. Kernels may lack /proc/PID/task/TID/children: parents are read. */
export function children(pid) {
  const found = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = statOf(entry);
    if (stat && stat.parent === pid) found.push(Number(entry));
  }
  return found;
}

/** {state, parent} of a process, or null when it is gone. */
export function statOf(pid) {
  try {
    const m = readFileSync(`/proc/${pid}/stat`, 'utf8').match(/^\d+ \(.*\) (\S) (\d+)/s);
    return { state: m[1], parent: Number(m[2]) };
  } catch {
    return null;
  }
}

export function alive(pid) {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Living processes whose environment holds NAME=value, as [{pid, command}]. */
export function processesWith(name, value) {
  const wanted = Buffer.from(`${name}=${value}\0`);
  const found = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const environ = readFileSync(`/proc/${entry}/environ`);
      const at = environ.indexOf(wanted);
      if (at < 0 || (at > 0 && environ[at - 1] !== 0)) continue;
      if (!alive(entry)) continue;
      found.push({ pid: Number(entry), command: readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() });
    } catch { /* ended meanwhile, or not ours */ }
  }
  return found;
}

// Prefixes for a command line that make the machine bad for one process tree only, in namespaces of
// its own: no root is needed and the host is untouched. For the `wrap` option of spawn and abide.
const within = (flags, script, ...args) => ['unshare', flags, '/bin/sh', '-euc', `${script}; exec "$@"`, ...args];

export const wraps = {
  /** No inotify instance (or no watch) can be made. */
  noInotifyInstances: () => within('-Ur', 'echo 0 >/proc/sys/user/max_inotify_instances', 'sh'),
  inotifyInstances: (n) => within('-Ur', `echo ${n} >/proc/sys/user/max_inotify_instances`, 'sh'),
  inotifyWatches: (n) => within('-Ur', `echo ${n} >/proc/sys/user/max_inotify_watches`, 'sh'),
  /** Everything under `path` can be read and not written, also by root. */
  readOnly: (path) => within('-Urm', 'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"', path),
  /** The folder `path` is a copy of itself on a disk of that many kB, of which none is free. */
  fullDisk: (path, kB = 4096) => within('-Urm', [
    'copy=$(mktemp -d)', `mount -t tmpfs -o size=${kB}k none "$copy"`, 'cp -a "$0/." "$copy/"',
    'dd if=/dev/zero of="$copy/.filler" bs=4k 2>/dev/null || true', 'mount --move "$copy" "$0" 2>/dev/null || mount --bind "$copy" "$0"',
    'rmdir "$copy" 2>/dev/null || true',
  ].join('; '), path),
};

let namespaces;
/** For the `skip` option of tests that use wraps: false, or why this machine cannot run them. */
export function lacksNamespaces() {
  namespaces ??= spawnSync('unshare', ['-Urm', 'true']).status === 0;
  return namespaces ? false : 'no user namespaces on this machine';
}
