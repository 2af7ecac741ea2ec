// Adds up what the test runner itself counted, and prints it as the last line.
import { readFileSync } from 'node:fs'

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const file of process.argv.slice(2)) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(file, 'utf8'))
  counts.passed += numPassedTests
  counts.failed += numFailedTests
  counts.skipped += numPendingTests + numTodoTests
}
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0
