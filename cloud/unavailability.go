package cloud

import (
	"context"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Unavailability is why an offering is not available.
type Unavailability struct {
	// Until is when the offering is available again unless launches fail again; zero if no end is known.
	Until time.Time
	// Why is a short reason, such as "insufficient capacity"; empty if it is not known.
	Why string
}

// UnavailabilityReader is a cloud that knows why offerings are not available, and until when. It is for people: no decision depends on it.
type UnavailabilityReader interface {
	// Unavailability returns the answers for the offerings of the instance types that Provider.InstanceTypes returns for a pool. It reads what
	// is cached, and does not call the cloud. The answer about an offering is the zero value where nothing is known, and may be so for one
	// that has become available since it was listed.
	Unavailability(ctx context.Context, pool *v1.NodePool) (func(*InstanceType, *Offering) Unavailability, error)
}
