import { fileURLToPath } from 'node:url'
import { defineConfig } from 'rolldown'
import type { ModuleInfo } from 'rolldown'
import { listPackages } from './.ci/bundled-packages.ts'

// The program as it is shipped: our own modules and the packages that they use in few files, since a start of a command would
// read several hundred of them. What went in is listed in `packages.json`, which the bill of materials and the check for
// advisories read.

// What runs in a thread of its own is found by its name beside whoever starts it, here as in `dist`.
const WORKERS = [
  'dist/daemon/pull/document-worker.js',
  'dist/daemon/status/page/history-worker.js',
  'dist/serve/mcp/tools/search/search-worker.js',
  'dist/serve/page/markdown-worker.js',
  'dist/sync/git/git-worker.js',
  'dist/sync/git/second-opinion/second-worker.js',
]

/** The modules that are loaded together, each with those that it imports. Modules that several share have their own file. */
const LOADED_TOGETHER: Readonly<Record<string, readonly string[]>> = {
  start: ['dist/daemon/cli.js', 'dist/daemon/config/process-environment.js', 'dist/daemon/runtime/force-exit.js'],
  show: [
    'dist/daemon/configuration.js',
    ...['list', 'show', 'status', 'why'].map((name) => `dist/daemon/commands/show/${name}.js`),
    'dist/daemon/status/items.js',
    'dist/features/agent-folders/folder-status.js',
    'dist/features/channel/channel-items.js',
    'dist/features/hub-of-several/replica-lines.js',
    'dist/features/marketplace/publication-lines.js',
    'dist/features/rings/ring-lines.js',
    'dist/features/rings/stored-rings.js',
    'dist/features/scan/scans-lines.js',
  ],
  pull: [
    'dist/daemon/writer.js',
    'dist/daemon/commands/change/sync.js',
    'dist/features/agent-folders/link-requests.js',
    'dist/features/channel/log-requests.js',
    'dist/features/channel/recall/recall-requests.js',
    'dist/features/hub-of-several/pull-for-member.js',
    'dist/features/marketplace/publish-request.js',
    'dist/features/mcp-sources/addition-requests.js',
    'dist/features/mcp-sources/file-requests.js',
    'dist/features/rings/ring-requests.js',
    'dist/features/scan/scan-request.js',
  ],
  follow: ['dist/daemon/commands/run/mcp.js'],
  ...Object.fromEntries(WORKERS.map((worker) => [worker.replace(/^.*\/|\.js$/g, ''), [worker]])),
}

type Lookup = (id: string) => ModuleInfo | null

/**
 * Finds the names of what loads a module, joined. Empty if that is one worker, whose own file runs where it is imported: others
 * may load the module too, late.
 */
function loaders(lookup: Lookup): (id: string) => string {
  const found = new Map<string, string[]>()
  for (const [name, roots] of Object.entries(LOADED_TOGETHER)) {
    const seen = new Set<string>()
    const visit = (id: string): void => {
      if (seen.has(id)) return
      seen.add(id)
      for (const imported of lookup(id)?.importedIds ?? []) visit(imported)
    }
    for (const root of roots) visit(fileURLToPath(new URL(root, import.meta.url)))
    for (const id of seen) found.set(id, [...(found.get(id) ?? []), name])
  }
  return (id) => {
    const all = found.get(id) ?? []
    // Each command loads the whole start, and each that reads a configuration what shows.
    const always = ['start', 'show'].find((name) => all.includes(name))
    const names = all.filter((name) => always === undefined || name === always || name.endsWith('-worker'))
    return names.length === 1 && names.some((name) => name.endsWith('-worker')) ? '' : names.join('-')
  }
}

let loadersOf: ReturnType<typeof loaders> | undefined

/** Has the bundle take what a module loads late and synchronously, too. */
const requireOfBundle = {
  name: 'require-of-bundle',
  transform: (code: string) => code.replace('const require = createRequire(import.meta.url);', ''),
}

export default defineConfig({
  input: ['dist/daemon/main.js', ...WORKERS],
  preserveEntrySignatures: false,
  platform: 'node',
  logLevel: 'warn',
  // What is not found here is not found on any other machine either.
  onLog(level, log, print) {
    if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message)
    print(level, log)
  },
  // The SDK is the user's own, for `doctor --connect`. Packages look for the others, and do without them.
  external: /^(?:node:|@modelcontextprotocol\/sdk\/|(?:pg-native|pg-cloudflare|libxmljs2|xmlbuilder2)$)/,
  plugins: [requireOfBundle, listPackages()],
  output: {
    // As deep in the package as the modules that find its files by `import.meta.url`.
    dir: 'dist/program',
    cleanDir: true,
    // A daemon whose package is replaced while it runs finds no file of another version: it ends, and is started again. Letters
    // for names would have it take one function for another.
    chunkFileNames: '[name]-[hash].js',
    minifyInternalExports: false,
    comments: false,
    // Lines and names stay, for the stacks of faults. V8 keeps text in two bytes a character if one of them is not ASCII.
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: false, asciiOnly: true } },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: 'loaded-together',
          name: (id, context) => {
            loadersOf ??= loaders((asked) => context.getModuleInfo(asked))
            return loadersOf(id) || null
          },
        },
      ],
    },
  },
})
