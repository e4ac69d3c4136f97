// Gauges whose value is read at each scrape.
import { Gauge, type Registry } from 'prom-client'

type MakeGauge = (
  name: string,
  help: string,
  labelNames: string[],
  collect: (gauge: Gauge) => Promise<void> | void,
) => Gauge

/** @returns a function that adds a gauge. One whose `collect` sets nothing has no sample. */
export function gaugesOf(registry: Registry): MakeGauge {
  return (name, help, labelNames, collect) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [registry] },
      async collect() {
        this.reset()
        // A gauge without labels starts as 0, which looks like a measured value.
        if (labelNames.length === 0) this.remove()
        await collect(this)
      },
    })
}
