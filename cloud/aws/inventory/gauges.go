package inventory

import (
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Measure makes the gauges of CPU and memory show the instance types as EC2 describes them.
func (i *Inventory) Measure(cpu, memory *observe.GaugeFuncVec) {
	for gauge, size := range map[*observe.GaugeFuncVec]func(instancetype.Description) int64{
		cpu:    func(d instancetype.Description) int64 { return d.VCPUs },
		memory: func(d instancetype.Description) int64 { return d.MemoryMiB << 20 },
	} {
		gauge.AddSource(func(series observe.AddSeries) {
			known, _ := i.Types()
			for _, d := range known.Descriptions {
				series(float64(size(d)), d.Name)
			}
		})
	}
}
