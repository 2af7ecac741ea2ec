import type { MetricsForm } from '../../../serve/http/metrics.ts'
import type { Family, Labels, Sample } from './family.ts'

/**
 * Renders metrics in the exposition format of Prometheus, 0.0.4, or OpenMetrics 1.0. They differ in the names of
 * counters and in the last line.
 */
export function expositionOf(families: readonly Family[], form: MetricsForm): string {
  const text = families.map((family) => textOf(family, form)).join('')
  return form === 'openmetrics' ? `${text}# EOF\n` : text
}

function textOf({ name, kind, help, samples }: Family, form: MetricsForm): string {
  const called = form === 'openmetrics' && kind === 'counter' ? name.replace(/_total$/, '') : name
  const lines = samples.map((sample) => lineOf(name, sample))
  return `# HELP ${called} ${helpText(help, form)}\n# TYPE ${called} ${kind}\n${lines.join('')}`
}

function lineOf(name: string, { suffix = '', labels = {}, value }: Sample): string {
  return `${name}${suffix}${labelsText(labels)} ${numberText(value)}\n`
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${escape(value).replaceAll('"', '\\"')}"`],
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function helpText(help: string, form: MetricsForm): string {
  return form === 'openmetrics' ? escape(help).replaceAll('"', '\\"') : escape(help)
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
