// Where the worktree is, and what HEAD says.
import { appendFileSync, mkdirSync } from 'node:fs';
import { plain } from '../lib/repo.mjs';

export const layouts = [
  {
    name: 'plain',
    make: (s, { name, files }) => ({ dir: plain(s, s.path(name), files) }),
  },
  {
    name: 'linked-worktree',
    make(s, { name, files }) {
      const main = plain(s, s.path(name), files);
      const dir = s.path('linked');
      s.git(['worktree', 'add', '--quiet', '-b', 'elsewhere', dir], { cwd: main });
      return { dir, main };
    },
  },
  {
    name: 'bare-worktrees',
    bare: true,
    make(s, { name, files }) {
      const seed = plain(s, s.path('seed'), files);
      const bare = s.path(`${name}.git`);
      s.git(['clone', '--quiet', '--bare', seed, bare]);
      s.git(['remote', 'remove', 'origin'], { cwd: bare });
      const dir = s.path(name);
      s.git(['worktree', 'add', '--quiet', dir, 'main'], { cwd: bare });
      return { dir, bare };
    },
  },
  {
    name: 'unborn',
    unborn: true,
    make(s, { name }) {
      const dir = s.path(name);
      s.git(['init', '--quiet', '-b', 'main', dir]);
      return { dir };
    },
  },
  {
    name: 'detached',
    detached: true,
    make(s, { name, files }) {
      const dir = plain(s, s.path(name), files);
      s.git(['checkout', '--quiet', '--detach'], { cwd: dir });
      return { dir };
    },
  },
  {
    name: 'core-worktree-global',
    make(s, { name, files }) {
      const dir = plain(s, s.path(name), files);
      mkdirSync(s.path('somewhere-else'));
      appendFileSync(s.gitconfig, `[core]\n\tworktree = ${s.path('somewhere-else')}\n`);
      return { dir };
    },
  },
  {
    name: 'submodules',
    make(s, { name, files }) {
      const inner = plain(s, s.path('inner'), { 'inner.txt': 'inner\n' });
      const dir = plain(s, s.path(name), files);
      s.git(['submodule', '--quiet', 'add', inner, 'sub'], { cwd: dir });
      s.git(['commit', '--quiet', '-m', 'submodule'], { cwd: dir });
      return { dir };
    },
  },
  {
    name: 'newline-in-path',
    make: (s, { name, files }) => ({ dir: plain(s, s.path(`line\nbreak`, name), { ...files, 'odd\nname.txt': 'x\n' }) }),
  },
  {
    name: 'relative-worktrees',
    skip() {
      return gitAtLeast(2, 48) ? false : 'git before 2.48 has no relative worktree paths';
    },
    make(s, { name, files }) {
      const main = plain(s, s.path(name), files);
      s.git(['config', 'worktree.useRelativePaths', 'true'], { cwd: main });
      const dir = s.path('linked');
      s.git(['worktree', 'add', '--quiet', '-b', 'elsewhere', dir], { cwd: main });
      return { dir, main };
    },
  },
];

import { execFileSync } from 'node:child_process';
let version;
export function gitAtLeast(major, minor) {
  version ??= execFileSync('git', ['--version'], { encoding: 'utf8' }).match(/(\d+)\.(\d+)/).slice(1).map(Number);
  return version[0] > major || (version[0] === major && version[1] >= minor);
}
