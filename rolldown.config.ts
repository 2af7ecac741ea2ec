import { defineConfig } from 'rolldown'

// The program as it is shipped: our own modules in few files, since a start reads some five hundred of them. Packages stay
// packages: what is installed, audited and listed is what runs.
export default defineConfig({
  // What runs in a thread of its own is found by its name beside whoever starts it, here as in `dist`.
  input: [
    'dist/daemon/main.js',
    'dist/daemon/pull/document-worker.js',
    'dist/daemon/status/page/history-worker.js',
    'dist/serve/mcp/tools/search/search-worker.js',
    'dist/serve/page/markdown-worker.js',
    'dist/sync/git/git-worker.js',
    'dist/sync/git/second-opinion/second-worker.js',
  ],
  platform: 'node',
  logLevel: 'warn',
  external: /^[^./]/,
  output: {
    // As deep in the package as the modules that find its files by `import.meta.url`.
    dir: 'dist/program',
    cleanDir: true,
    // A daemon whose package is replaced while it runs finds no file of another version: it ends, and is started again. Letters
    // for names would have it take one function for another.
    chunkFileNames: '[name]-[hash].js',
    minifyInternalExports: false,
  },
})
