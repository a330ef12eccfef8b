// Package deps holds the dependencies that all controllers share.
package deps

import (
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/controller/writegate"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Shared is what every controller is built from. Controllers embed it.
type Shared struct {
	// Client reads from the manager's cache and writes to the API server. The cache needs the indexes of package nodelookup.
	Client   *readyourwrites.Client
	Clock    clock.Clock
	Cloud    cloud.Cloud
	Recorder *observe.Recorder
	Metrics  *observe.Metrics
	// WriteGate delays launches and terminations while NodeClaims are written or deleted in bulk. Nil never delays.
	WriteGate *writegate.Gate
	// CPUMillis is the CPU that the process may use, in thousandths of a core. The number of workers depends on it.
	CPUMillis int64
}

// New returns a Shared with the client, which Client wraps, the clock, and an open gate.
func New(c client.Client, clk clock.Clock) Shared {
	return Shared{Client: readyourwrites.New(c, clk), Clock: clk, WriteGate: writegate.New(clk)}
}
