// Branch names that break careless programs. Each repository has that branch, with one commit more
// than the trunk, as `task`.
import { plain, Repo } from '../lib/repo.mjs';

const odd = {
  'branch-slashes': 'agent/deep/er/work',
  'branch-nfc': 'caf\u00e9/\u00fcber',
  'branch-nfd': 'cafe\u0301/u\u0308ber',
  'branch-leading-dash': '-x',
  'branch-quotes': `it's-"quoted"-$HOME-\`id\``,
  'branch-describe-like': 'gone-1-gc7f3c71',
};

export const names = Object.entries(odd).map(([name, task]) => ({
  name,
  oddName: task,
  make(s, { name: folder, files }) {
    const dir = plain(s, s.path(folder), files);
    new Repo(s, { dir }).commitOn(task, { 'task.txt': 'task\n' }, 'work');
    return { dir, task };
  },
}));
