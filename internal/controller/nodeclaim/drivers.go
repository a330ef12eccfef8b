package nodeclaim

import (
	"context"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

// AwaitDrivers delays initialization of a Node until the DRA drivers that its NodeClaim names have published: until then it is unknown
// which devices are free.
//
// Source: spec NodeClaim and NodePool lifecycle, initialization, DRA gate.
func (l *Lifecycle) AwaitDrivers() *Lifecycle {
	l.awaitDrivers = true
	return l
}

// unpublished is the first driver that the NodeClaim names and that has not published a complete pool on the Node; empty if there is
// none.
func (l *Lifecycle) unpublished(ctx context.Context, claim *v1.NodeClaim, nodeName string) (string, error) {
	drivers := requestedDrivers(claim)
	if !l.awaitDrivers || len(drivers) == 0 {
		return "", nil
	}
	slices, err := nodelookup.SlicesOf(ctx, l.Client, nodeName)
	if err != nil {
		return "", err
	}
	published := complete(slices)
	for _, driver := range drivers {
		if !published[driver] {
			return driver, nil
		}
	}
	return "", nil
}

func requestedDrivers(claim *v1.NodeClaim) []string {
	var out []string
	for _, name := range strings.Split(claim.Annotations[v1.RequestedDRADriversAnnotationKey], ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// complete returns the drivers with at least one pool that is complete at its newest generation.
func complete(slices []resourcev1.ResourceSlice) map[string]bool {
	type pool struct{ driver, name string }
	type state struct{ generation, found, declared int64 }
	pools := map[pool]state{}
	for i := range slices {
		spec := &slices[i].Spec
		id := pool{spec.Driver, spec.Pool.Name}
		p, known := pools[id]
		if known && spec.Pool.Generation < p.generation {
			continue
		}
		if !known || spec.Pool.Generation > p.generation {
			p = state{generation: spec.Pool.Generation, declared: spec.Pool.ResourceSliceCount}
		}
		p.found++
		pools[id] = p
	}
	out := map[string]bool{}
	for id, p := range pools {
		if p.declared > 0 && p.found == p.declared {
			out[id.driver] = true
		}
	}
	return out
}

// driverMissing is the reason and the message of the condition while a driver has not published.
func driverMissing(driver string) (reason, message string) {
	return "DRADriverPoolsNotPublished", fmt.Sprintf("DRA driver %q has not published a complete resource pool", driver)
}
