// How objects, refs and the checkout are stored.
import { pathToFileURL } from 'node:url';
import { plain } from '../lib/repo.mjs';
import { gitAtLeast } from './layouts.mjs';

export const storage = [
  {
    name: 'packed-refs',
    make(s, { name, files }) {
      const dir = plain(s, s.path(name), files);
      s.git(['branch', 'older'], { cwd: dir });
      s.git(['pack-refs', '--all', '--prune'], { cwd: dir });
      return { dir };
    },
  },
  {
    name: 'sha256',
    make: (s, { name, files }) => ({ dir: plain(s, s.path(name), files, { init: ['--object-format=sha256'] }) }),
  },
  {
    name: 'reftable',
    skip() {
      return gitAtLeast(2, 45) ? false : 'git before 2.45 has no reftable';
    },
    make: (s, { name, files }) => ({ dir: plain(s, s.path(name), files, { init: ['--ref-format=reftable'] }) }),
  },
  {
    name: 'sparse',
    make(s, { name, files }) {
      const dir = plain(s, s.path(name), { ...files, 'far/away.txt': 'x\n', 'near/here.txt': 'y\n' });
      s.git(['sparse-checkout', 'set', '--cone', 'src', 'near'], { cwd: dir });
      return { dir };
    },
  },
  {
    name: 'partial-clone',
    make(s, { name, files }) {
      const origin = plain(s, s.path('origin'), files);
      s.git(['config', 'uploadpack.allowFilter', 'true'], { cwd: origin });
      s.git(['config', 'uploadpack.allowAnySHA1InWant', 'true'], { cwd: origin });
      const dir = s.path(name);
      s.git(['clone', '--quiet', '--filter=blob:none', pathToFileURL(origin).href, dir]);
      return { dir, origin };
    },
  },
];
