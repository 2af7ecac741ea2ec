// Says what failed, adds up what the test runner itself counted, and prints the sum as the last line.
import { readFileSync } from 'node:fs'

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const file of process.argv.slice(2)) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  counts.passed += numPassedTests
  counts.failed += numFailedTests
  counts.skipped += numPendingTests + numTodoTests
  for (const { name, message, assertionResults } of testResults) {
    // A file that could not be run has a message and no tests.
    if (assertionResults.length === 0) console.log(`failed in ${file}: ${name}\n${message}\n`)
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status !== 'failed') continue
      const why = failureMessages.join('\n').split('\n').slice(0, 12).join('\n')
      console.log(`failed in ${file}: ${name}: ${fullName}\n${why}\n`)
    }
  }
}
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0
