// The repository zoo: every kind of repository that the program must work in. An animal is
//   {name, make(s, {name, files}) → fields of Repo, skip?() → reason or false, unborn?, detached?, bare?}
import { layouts } from './layouts.mjs';
import { storage } from './storage.mjs';
import { names } from './names.mjs';

export const zoo = [...layouts, ...storage, ...names];
