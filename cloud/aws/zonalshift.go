package aws

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/karpenter-anew/karpenter/cloud/aws/health"
	"github.com/karpenter-anew/karpenter/cloud/aws/interruption"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/cloud/aws/zonalshift"
	"github.com/karpenter-anew/karpenter/cloud/periodictask"
)

// Polling intervals.
const (
	healthEvery       = time.Minute
	shiftsEvery       = 30 * time.Second
	reservationsEvery = time.Minute
)

// watchZonalShifts watches the zonal shifts of the cluster, if enabled. It reads them once: without permission, the process does not start.
func watchZonalShifts(ctx context.Context, o *provider.Options, s Settings, arc zonalshift.ARC) error {
	if !s.ZonalShift {
		return nil
	}
	cluster, err := o.Cluster.Describe(ctx)
	if err != nil {
		return fmt.Errorf("finding the ARN of the cluster: %w", err)
	}
	if cluster == nil || sdk.ToString(cluster.Arn) == "" {
		return fmt.Errorf("cluster %q has no ARN", s.ClusterName)
	}
	o.Shifts = zonalshift.New(arc, *cluster.Arn, o.Clock)
	return o.Shifts.Refresh(ctx)
}

// watches are the jobs that follow what happens to instances.
func (e *controllerSet) watches() []periodictask.Task {
	p, telemetry := e.provider, e.settings.Telemetry
	responder := &interruption.Handler{
		Client: e.client, Clock: p.Clock, Manages: e.manages, Fresh: p.LaunchedRecently, Recorder: telemetry.Recorder, Metrics: telemetry.Metrics,
		UnavailableOfferings: p.Catalog.UnavailableOfferings,
	}
	poll := &health.Poller{EC2: e.statuses, Client: e.client, Manages: e.manages, Handle: responder.Handle, Shifted: p.Shifts.Shifted, Clock: p.Clock, Metrics: e.metrics}
	reserved := periodic.Reservations{Instances: p.Instances, Finder: p.Catalog.Finder, Client: e.client, Manages: e.manages}
	out := []periodictask.Task{
		{Name: "interruption.instancestatus", Every: periodictask.Always(healthEvery), Run: poll.Poll},
		{Name: "capacityreservation.capacitytype", Every: periodictask.Always(reservationsEvery), Run: reserved.Demote},
		{Name: "capacityreservation.expiration", Every: periodictask.Always(reservationsEvery), Run: reserved.Expire},
	}
	if e.queues != nil {
		queue := &interruption.Queue{API: e.queues, Name: e.settings.InterruptionQueue, Region: p.Region, Handle: responder.Handle, Clock: p.Clock, Metrics: e.metrics}
		out = append(out, periodictask.Task{Name: "interruption", Every: periodictask.Always(0), Run: queue.Poll})
	}
	if p.Shifts != nil {
		announcer := &zonalshift.Announcer{Watch: p.Shifts, Client: e.client, Manages: e.manages, Recorder: telemetry.Recorder}
		out = append(out, periodictask.Task{Name: "zonalshift", Every: periodictask.Always(shiftsEvery), Run: announcer.Announce})
	}
	for i := range out {
		out[i].Clock = p.Clock
	}
	return out
}
