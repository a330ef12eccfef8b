package aws

import (
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// registerTypeGauges registers the gauges of CPU and memory of instance types, as EC2 describes them.
func registerTypeGauges(m *telemetry.Metrics, sold *inventory.Inventory) {
	for gauge, size := range map[*observe.GaugeFuncVec]func(instancetype.Description) int64{
		m.TypeCPU:    func(d instancetype.Description) int64 { return d.VCPUs },
		m.TypeMemory: func(d instancetype.Description) int64 { return d.MemoryMiB << 20 },
	} {
		gauge.AddSource(func(series observe.AddSeries) {
			known, _ := sold.Types()
			for _, d := range known.Descriptions {
				series(float64(size(d)), d.Name)
			}
		})
	}
}
