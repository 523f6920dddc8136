// Real repositories for tests.
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { zoo } from '../zoo/index.mjs';

/**
 * abide.yaml text for gate jobs: gateYaml({test: 'make check', lint: {run: '…', needs: ['test']}}).
 * `extra` is put in front, as it is.
 */
export function gateYaml(jobs, extra = '') {
  const lines = [];
  for (const [name, job] of Object.entries(jobs)) {
    const { run, ...rest } = typeof job === 'string' ? { run: job } : job;
    lines.push(`  - name: ${name}`, '    run: |', ...run.split('\n').map((line) => `      ${line}`));
    for (const [key, value] of Object.entries(rest)) lines.push(`    ${key}: ${JSON.stringify(value)}`);
  }
  const head = extra === '' || extra.endsWith('\n') ? extra : `${extra}\n`;
  return lines.length > 0 ? `${head}gate:\n${lines.join('\n')}\n` : head;
}

/** One repository: `dir` is where commands run, `gitDir` the common git folder, `trunk` the trunk's name. */
export class Repo {
  constructor(s, { dir, trunk = 'main', task = 'feature', kind = 'plain', ...more }) {
    this.s = s;
    this.dir = dir;
    this.trunk = trunk;
    /** A branch name that suits this repository's oddity; tests that need one branch use it. */
    this.task = task;
    this.kind = kind;
    Object.assign(this, more);
    this.gitDir = realpathSync(resolve(dir, s.git(['rev-parse', '--git-common-dir'], { cwd: dir })));
  }
  /** abide's own folder; it exists once something was stored. */
  get store() { return join(this.gitDir, 'abide'); }

  git(args, options = {}) { return this.s.git(args, { cwd: this.dir, ...options }); }

  /** The object id of a name, or null. */
  head(name = 'HEAD', { cwd = this.dir } = {}) {
    const r = this.s.git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], { cwd, ok: [1, 128] });
    return r.code === 0 ? r.stdout.trim() : null;
  }
  /** The object id of a branch, or null; exact, whatever its name looks like. */
  tip(branch) {
    const r = this.git(['show-ref', '--verify', '--hash', `refs/heads/${branch}`], { ok: [1, 128] });
    return r.code === 0 ? r.stdout.trim() : null;
  }
  /** Every ref with its object id, as an object. */
  refs() {
    const text = this.git(['for-each-ref', '--format=%(refname) %(objectname)']);
    return Object.fromEntries(text.split('\n').filter(Boolean).map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), line.slice(at + 1)];
    }));
  }

  /** Writes files ({path: text, or null to remove}), commits them in `cwd`, returns the object id. */
  commit(files = {}, message = 'change', { cwd = this.dir } = {}) {
    for (const [name, text] of Object.entries(files)) {
      const path = join(cwd, name);
      if (text === null) { rmSync(path); continue; }
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    const names = Object.keys(files);
    if (names.length > 0) this.s.git(['--literal-pathspecs', 'add', '-A', '-f', '--sparse', '--', ...names], { cwd });
    this.s.git(['commit', '--quiet', '--allow-empty', '--no-verify', '-m', message], { cwd });
    return this.head('HEAD', { cwd });
  }

  /** Makes a branch (any name that a ref can have) at `from`, without a worktree. Returns its tip. */
  branch(name, from = this.trunk) {
    const oid = this.tip(from) ?? this.head(from);
    this.git(['update-ref', `refs/heads/${name}`, oid]);
    return oid;
  }

  /** A commit on a branch without touching any worktree (the branch is made when it is missing). */
  commitOn(branch, files = {}, message = 'change', { from = this.trunk } = {}) {
    const parent = this.tip(branch) ?? this.tip(from) ?? this.head(from);
    const index = this.s.path('index', `${Math.random().toString(36).slice(2)}`);
    const env = { GIT_INDEX_FILE: index };
    if (parent) this.git(['read-tree', parent], { env });
    for (const [name, text] of Object.entries(files)) {
      const blob = this.git(['hash-object', '-w', '--stdin'], { input: text });
      this.git(['update-index', '--add', '--cacheinfo', `100644,${blob},${name}`], { env });
    }
    const tree = this.git(['write-tree'], { env });
    rmSync(index, { force: true });
    const oid = this.git(['commit-tree', tree, ...(parent ? ['-p', parent] : []), '-m', message]);
    this.git(['update-ref', `refs/heads/${branch}`, oid]);
    return oid;
  }

  /** A worktree made with plain git, on a new branch from `from` (or the branch when it exists). Its path. */
  worktree(branch, { from = this.trunk, path } = {}) {
    const where = path ?? this.s.path('trees', branch.replace(/[^\w.-]/g, '_'));
    if (this.tip(branch) === null) this.branch(branch, from);
    // Through a detached checkout, so that names which look like options work as well.
    this.git(['worktree', 'add', '--quiet', '--detach', where, `refs/heads/${branch}`]);
    this.s.git(['symbolic-ref', 'HEAD', `refs/heads/${branch}`], { cwd: where });
    return where;
  }

  /** Moves a branch to a commit by update-ref, as an outside process would. */
  moveTo(branch, oid) {
    this.git(['update-ref', `refs/heads/${branch}`, oid]);
    return oid;
  }
  hasStore() { return existsSync(this.store); }
}

/**
 * Makes a repository. options: zoo (an animal's name, default 'plain'), name (folder), files (of the
 * first commit), gate (jobs for gateYaml), yaml (text of abide.yaml).
 */
export async function makeRepo(s, { zoo: kind = 'plain', name = 'repo', files = {}, gate, yaml, ...more } = {}) {
  const animal = zoo.find((a) => a.name === kind);
  if (!animal) throw new Error(`no such animal in the zoo: ${kind}`);
  const first = { 'README': 'a repository\n', 'src/main.txt': 'one\n', ...files };
  if (gate || yaml !== undefined) first['abide.yaml'] = gate ? gateYaml(gate, yaml ?? '') : yaml;
  const made = await animal.make(s, { name, files: first, ...more });
  return new Repo(s, { kind, ...made });
}

/** A plain repository with one commit in `dir`. For the zoo's files. */
export function plain(s, dir, files, { init = [], cwd = s.dir } = {}) {
  mkdirSync(dirname(dir), { recursive: true });
  s.git(['init', '--quiet', '-b', 'main', ...init, '--', dir], { cwd });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  s.git(['add', '-A'], { cwd: dir });
  s.git(['commit', '--quiet', '-m', 'first'], { cwd: dir });
  return dir;
}
