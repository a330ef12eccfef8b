// Package zonalshift tracks the zones from which the cluster's traffic is shifted away, and notifies NodePools of changes. Such a zone
// is considered impaired: nothing is launched there, and its nodes are not disrupted until the shift ends, because what EC2 reports
// about the zone may be wrong.
//
// Source: AWS provider specification, zonal shift; zonal shift controller.
package zonalshift

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	arctypes "github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
	"k8s.io/utils/clock"
)

// ARC is the call about shifts.
type ARC interface {
	GetManagedResource(context.Context, *arczonalshift.GetManagedResourceInput, ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error)
}

// Watch holds the zonal shifts of a cluster. A nil Watch has none; it is safe for concurrent use.
type Watch struct {
	arc     ARC
	cluster string
	clock   clock.PassiveClock

	mu sync.RWMutex
	// ends are the ends of shifts by the id of their zone; zero for one that has no set end.
	ends map[string]time.Time
}

// New returns a watch of a cluster, by its ARN. It has no shifts until it is refreshed.
func New(arc ARC, cluster string, now clock.PassiveClock) *Watch {
	return &Watch{arc: arc, cluster: cluster, clock: now}
}

// Refresh reads the shifts. It replaces all earlier ones, unless it fails.
func (w *Watch) Refresh(ctx context.Context) error {
	answer, err := w.arc.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(w.cluster)})
	if err != nil {
		return fmt.Errorf("asking for the zonal shifts of %q: %w", w.cluster, err)
	}
	ends := map[string]time.Time{}
	for _, s := range answer.ZonalShifts {
		zone, end := aws.ToString(s.AwayFrom), aws.ToTime(s.ExpiryTime)
		if s.AppliedStatus == arctypes.AppliedStatusApplied && end.After(ends[zone]) {
			ends[zone] = end
		}
	}
	// Zonal autoshifts have no end time.
	for _, s := range answer.Autoshifts {
		if s.AppliedStatus == arctypes.AutoshiftAppliedStatusApplied {
			ends[aws.ToString(s.AwayFrom)] = time.Time{}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = ends
	return nil
}

// Shifted reports whether a zonal shift is active in the zone with an id.
func (w *Watch) Shifted(zoneID string) bool {
	if w == nil {
		return false
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	end, ok := w.ends[zoneID]
	return ok && (end.IsZero() || end.After(w.clock.Now()))
}

// Zones are the ids of all zones that traffic is shifted away from, sorted.
func (w *Watch) Zones() []string {
	if w == nil {
		return nil
	}
	w.mu.RLock()
	ids := slices.Sorted(maps.Keys(w.ends))
	w.mu.RUnlock()
	return slices.DeleteFunc(ids, func(id string) bool { return !w.Shifted(id) })
}
