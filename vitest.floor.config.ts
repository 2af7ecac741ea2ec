import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

// Tests for the oldest Node that runs the program. Files, processes, sockets, HTTP and threads are what an older Node can do
// differently; the protocol, the page, the rules of skills and the git program are the same on each, and run on the LTS alone.
const FILES = ['sync/store', 'sync/upstream/folder', 'daemon/schedule/folder-watch.test.ts']
const PROCESSES = ['daemon/base', 'daemon/process', 'daemon/control', 'daemon/cli/doctor/doctor.faults.test.ts']
const CONNECTIONS = ['serve/http', 'serve/stdio', 'daemon/http', 'sync/upstream/http']
const THREADS = ['sync/upstream/git/fetch-threads.test.ts', 'daemon/pull/document-thread.test.ts', 'daemon/search']
// From the start of a process to its end, over HTTP and over stdio, with git pulls, reloads and kills in between.
const JOURNEYS = ['lifecycle', 'stdio', 'http/sessions', 'reload', 'restart'].map((name) => `e2e/${name}.test.ts`)

const PARTS = [FILES, PROCESSES, CONNECTIONS, THREADS, JOURNEYS].flat()

export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: { include: PARTS.map((part) => (part.endsWith('.ts') ? `test/${part}` : `test/${part}/**/*.test.ts`)) },
  }),
)
