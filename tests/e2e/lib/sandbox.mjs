// A test's own world: folder, home, git configuration, programs, and a check that nothing is left.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child, processesWith } from './process.mjs';
import { checkEnvelope, schemaErrors } from './envelope.mjs';
import { makeRepo } from './repo.mjs';
import { waitFor } from './wait.mjs';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const abideBin = resolve(process.env.ABIDE_BIN ?? join(root, 'build-check/abide'));

const GITCONFIG = `[user]
\tname = Test Person
\temail = person@example.test
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol "file"]
\tallow = always
[advice]
\tdetachedHead = false
`;

const short = (text, limit = 4000) =>
  text.length > limit ? `${text.slice(0, limit / 2)}\n… ${text.length - limit} more …\n${text.slice(-limit / 2)}` : text;

export class Sandbox {
  #commands = [];
  #children = [];
  #allowed = [];
  #removers = [];

  constructor(t = null) {
    this.t = t;
    this.dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'abide-test-')));
    for (const name of ['home', 'tmp', 'run', 'bin', 'config', 'cache', 'data', 'state', 'san']) {
      fs.mkdirSync(join(this.dir, name), { mode: 0o700 });
    }
    this.gitconfig = join(this.dir, 'gitconfig');
    fs.writeFileSync(this.gitconfig, GITCONFIG);
    fs.symlinkSync(abideBin, join(this.dir, 'bin/abide'));
    const san = `log_path=${join(this.dir, 'san/log')}`;
    this.env = {
      PATH: `${join(this.dir, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: join(this.dir, 'home'), TMPDIR: join(this.dir, 'tmp'),
      XDG_RUNTIME_DIR: join(this.dir, 'run'), XDG_CONFIG_HOME: join(this.dir, 'config'),
      XDG_CACHE_HOME: join(this.dir, 'cache'), XDG_DATA_HOME: join(this.dir, 'data'),
      XDG_STATE_HOME: join(this.dir, 'state'),
      LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', TZ: 'UTC', SHELL: '/bin/sh', USER: 'tester', LOGNAME: 'tester',
      GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: this.gitconfig, GIT_TERMINAL_PROMPT: '0',
      ABIDE_TEST_SANDBOX: this.dir,
      ASAN_OPTIONS: [process.env.ASAN_OPTIONS ?? 'detect_leaks=1:exitcode=99', san].join(':'),
      UBSAN_OPTIONS: [process.env.UBSAN_OPTIONS ?? 'print_stacktrace=1:halt_on_error=1:exitcode=99', san].join(':'),
    };
  }

  /** A path inside the sandbox; its parent folders are made. */
  path(...parts) {
    const path = join(this.dir, ...parts);
    fs.mkdirSync(dirname(path), { recursive: true });
    return path;
  }

  /** Writes a file (mode for programs) and returns its path. Relative names are in the sandbox. */
  write(name, text, { mode } = {}) {
    const path = resolve(this.dir, name);
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(path, text);
    if (mode !== undefined) fs.chmodSync(path, mode);
    return path;
  }

  /** Puts an executable script on the PATH of everything that this sandbox runs. */
  program(name, text) {
    fs.rmSync(join(this.dir, 'bin', name), { force: true });
    return this.write(join('bin', name), text.startsWith('#!') ? text : `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  #environment(extra = {}) {
    const env = { ...this.env, ...extra };
    for (const key of Object.keys(env)) if (env[key] === undefined || env[key] === null) delete env[key];
    return env;
  }

  /**
   * Starts any program. options: cwd, env (added; null removes), stdin ('pipe', 'ignore', fd), detached,
   * wrap (a command line to put in front, such as one of wraps).
   */
  spawn(file, args = [], { cwd = this.dir, env, wrap = [], ...rest } = {}) {
    if (wrap.length > 0) [file, ...args] = [...wrap, file, ...args];
    const child = new Child(file, args, { cwd, env: this.#environment(env), ...rest });
    this.#children.push(child);
    this.#commands.push({ cwd, child });
    return child;
  }

  /** Runs any program to its end: {code, signal, stdout, stderr, ms}. options: as spawn, input, timeout. */
  async run(file, args = [], { input = '', timeout = 60000, ...options } = {}) {
    const child = this.spawn(file, args, options);
    if (child.process.stdin) child.end(input);
    return await child.done({ timeout });
  }

  /** Shell text, run by sh. Fails the test unless it ends with 0. */
  async sh(text, options = {}) {
    const result = await this.run('/bin/sh', ['-euc', text], options);
    if (result.code !== 0) throw new Error(`sh: exit ${result.code} ${result.signal ?? ''}: ${text}\n${result.stderr}`);
    return result.stdout;
  }

  /**
   * git in `cwd`, at once: its stdout without the last newline. options: cwd, env, input, ok (an array
   * of accepted exit codes; then the result is {code, stdout, stderr}).
   */
  git(args, { cwd = this.dir, env, input, ok } = {}) {
    try {
      const stdout = execFileSync('git', args, {
        cwd, env: this.#environment(env), input: input ?? '', encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'], maxBuffer: 1 << 28,
      });
      return ok ? { code: 0, stdout, stderr: '' } : stdout.replace(/\n$/, '');
    } catch (error) {
      if (ok?.includes(error.status)) return { code: error.status, stdout: error.stdout, stderr: error.stderr };
      throw new Error(`git ${args.join(' ')} (in ${cwd}): exit ${error.status}\n${error.stderr}`);
    }
  }

  /**
   * The program under test, run to its end: {code, signal, stdout, stderr, ms, json}. With --json among
   * the arguments (and stream not set) stdout must be exactly one valid envelope, which is `json`.
   * options: cwd, env, input, timeout, stream (one JSON object a line: `json` is the array).
   */
  async abide(args, { cwd = this.cwd ?? this.dir, stream = false, ...options } = {}) {
    const result = await this.run(abideBin, args, { cwd, ...options });
    return this.#judge(args, result, stream);
  }

  #judge(args, result, stream) {
    if (result.code === 99 || /ERROR: (Address|Leak)Sanitizer|runtime error:/.test(result.stderr)) {
      throw new Error(`a sanitizer spoke during: abide ${args.join(' ')}\n${this.sanitizerReports()}${result.stderr}`);
    }
    const before = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
    if (before.includes('--json') && result.signal === null) {
      if (stream) {
        result.json = result.stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
        for (const line of result.json) {
          const broken = 'ok' in line ? schemaErrors(line) : null;
          if (broken) throw new Error(`${broken}: abide ${args.join(' ')}\n${JSON.stringify(line)}`);
        }
      } else {
        result.json = checkEnvelope(result);
      }
    }
    return result;
  }

  /** As abide, and the exit status must be `code` (0 unless told). Returns the envelope's data. */
  async ok(args, { code = 0, ...options } = {}) {
    const result = await this.abide([...args, '--json'], options);
    if (result.code !== code) {
      throw new Error(`abide ${args.join(' ')}: exit ${result.code} ${result.signal ?? ''}, wanted ${code}\n${result.stdout}\n${result.stderr}`);
    }
    return result.json.data;
  }

  /** As abide --json, and it must refuse with this error slug. Returns the envelope. */
  async refused(args, slug, options = {}) {
    const result = await this.abide([...args, '--json'], options);
    if (result.json.ok || result.json.error !== slug) {
      throw new Error(`abide ${args.join(' ')}: wanted the refusal ${slug}, exit ${result.code}\n${result.stdout}\n${result.stderr}`);
    }
    return result.json;
  }

  /** Starts the program under test and keeps it: a Child. end() its stdin if it must see the end. */
  spawnAbide(args, { cwd = this.cwd ?? this.dir, stdin = 'ignore', ...options } = {}) {
    const child = this.spawn(abideBin, args, { cwd, stdin, ...options });
    const done = child.done.bind(child);
    child.done = async ({ stream = false, ...rest } = {}) => this.#judge(args, await done(rest), stream);
    return child;
  }

  /** A repository. options.zoo names one of tests/e2e/zoo; see lib/repo.mjs. */
  async repo(options = {}) {
    const repo = await makeRepo(this, options);
    this.cwd ??= repo.dir;
    return repo;
  }

  /**
   * A place where a gate job (or any script) stands until the test says go on.
   *   const gate = s.fifo();   job: gate.script     await gate.reached();     await gate.release(0);
   */
  fifo(name = `fifo-${this.#removers.length}`) {
    const path = this.path('fifos', name);
    execFileSync('mkfifo', [path]);
    fs.writeFileSync(`${path}.at`, '');
    this.#removers.push(() => {});
    const folder = dirname(path);
    const arrivals = () => fs.readFileSync(`${path}.at`, 'utf8').split('\n').slice(0, -1);
    return {
      path,
      /** Shell text: says that it is there, waits, and exits with the status it is released with. */
      script: `echo $$ >>'${path}.at'; read -r abide_code <'${path}'; exit "$abide_code"`,
      /** Waits for the n-th arrival and returns the process id of that shell. */
      reached: async (n = 1, options = {}) =>
        Number(await waitFor(() => arrivals()[n - 1], { what: `arrival ${n} at ${name}`, watch: folder, ...options })),
      arrivals: () => arrivals().length,
      /** Lets one arrival go on, with this exit status. */
      release: async (code = 0, options = {}) => {
        await waitFor(() => {
          let fd;
          try {
            fd = fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
          } catch (error) {
            if (error.code === 'ENXIO') return false; // no reader yet
            throw error;
          }
          fs.writeSync(fd, `${code}\n`);
          fs.closeSync(fd);
          return true;
        }, { what: `somebody reads ${name}`, ...options });
      },
    };
  }

  /** A leftover matching this expression (path or command) is meant. */
  allowLeftover(pattern) { this.#allowed.push(pattern); }

  sanitizerReports() {
    return fs.readdirSync(join(this.dir, 'san')).map((name) => fs.readFileSync(join(this.dir, 'san', name), 'utf8')).join('\n');
  }

  /** Every command so far with what it said, for a failing test. */
  transcript(last = 12) {
    const lines = [];
    for (const { cwd, child } of this.#commands.slice(-last)) {
      const r = child.result;
      lines.push(`$ ${child.argv.map((a) => (/^[\w@%+=:,./-]+$/.test(a) ? a : JSON.stringify(a))).join(' ')}   (in ${cwd})`);
      lines.push(r ? `  code ${r.code} signal ${r.signal} after ${Math.round(r.ms)} ms` : '  still running');
      for (const [name, text] of [['stdout', child.stdout()], ['stderr', child.stderr()]]) {
        if (text !== '') lines.push(`  ${name}: ${short(text).trimEnd().replaceAll('\n', '\n    ')}`);
      }
    }
    return lines.join('\n');
  }

  #leftFiles() {
    const left = [];
    const walk = (folder, inGit, inStore) => {
      let entries;
      try { entries = fs.readdirSync(folder, { withFileTypes: true }); } catch { return; }
      for (const entry of entries) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) {
          const git = inGit || entry.name === '.git' || entry.name.endsWith('.git')
            || fs.existsSync(join(path, 'HEAD')) && fs.existsSync(join(path, 'objects'));
          walk(path, git, inStore || (git && entry.name === 'abide'));
        } else if (inStore ? /\.tmp($|\W)|^tmp[._-]/.test(entry.name) : inGit && /\.lock$|^tmp_/.test(entry.name)) {
          if (!(inGit && /locked$/.test(entry.name))) left.push(relative(this.dir, path));
        } else if (/^\.?abide[.-].*(\.tmp|\.[A-Za-z0-9]{6})$/.test(entry.name) && /tmp|XXXXXX|\.[A-Za-z0-9]{6}$/.test(entry.name)
          && !/\.(ya?ml|json|md|lock|sock|fish|bash)$/.test(entry.name)) {
          left.push(relative(this.dir, path));
        }
      }
    };
    walk(this.dir, false, false);
    for (const name of fs.readdirSync(join(this.dir, 'tmp'))) left.push(join('tmp', name));
    return [...new Set(left)];
  }

  /**
   * The end of the test: ends what still runs, looks for leftovers, removes the folder. Returns what
   * was left, as sentences.
   */
  async close({ grace = 1500 } = {}) {
    const problems = [];
    const meant = (text) => this.#allowed.some((pattern) => pattern.test(text));
    try {
      const processes = () => processesWith('ABIDE_TEST_SANDBOX', this.dir).filter((p) => !meant(p.command));
      try {
        await waitFor(() => processes().length === 0, { timeout: grace, what: 'processes end' });
      } catch {
        for (const p of processes()) problems.push(`process left: ${p.pid} ${p.command}`);
      }
      for (let round = 0; round < 20; round++) {
        const rest = processesWith('ABIDE_TEST_SANDBOX', this.dir);
        if (rest.length === 0) break;
        for (const p of rest) try { process.kill(p.pid, 'SIGKILL'); } catch { /* gone */ }
        await waitFor(() => rest.every((p) => !processesWith('ABIDE_TEST_SANDBOX', this.dir).some((q) => q.pid === p.pid)),
          { timeout: 5000, what: 'killed processes end' }).catch(() => {});
      }
      for (const path of this.#leftFiles()) if (!meant(path)) problems.push(`file left: ${path}`);
      const reports = this.sanitizerReports();
      if (reports !== '') problems.push(`a sanitizer spoke:\n${reports}`);
    } finally {
      try {
        fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
      } catch {
        execFileSync('chmod', ['-R', 'u+rwX', this.dir]);
        fs.rmSync(this.dir, { recursive: true, force: true });
      }
    }
    return problems;
  }
}

/** A digest of a folder: every path with its type, mode and content. For "this changes nothing". */
export function fileTreeDigest(dir, { ignore = () => false } = {}) {
  const hash = createHash('sha256');
  const walk = (folder) => {
    for (const name of fs.readdirSync(folder).sort()) {
      const path = join(folder, name);
      const rel = relative(dir, path);
      if (ignore(rel)) continue;
      const st = fs.lstatSync(path);
      hash.update(`${rel}\0${(st.mode).toString(8)}\0`);
      if (st.isSymbolicLink()) hash.update(fs.readlinkSync(path));
      else if (st.isFile()) hash.update(fs.readFileSync(path));
      else if (st.isDirectory()) walk(path);
      hash.update('\0');
    }
  };
  walk(dir);
  return hash.digest('hex');
}
