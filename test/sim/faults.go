package sim

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Faults are what goes wrong, as probabilities for each call, and how slow things are. Their zero value is a perfect cluster.
type Faults struct {
	// MinCall and MaxCall bound how long a request, or an answer, of the API server is on its way.
	MinCall, MaxCall time.Duration
	// MinLag and MaxLag bound how far watches are behind.
	MinLag, MaxLag time.Duration
	// Conflict, Throttle and Refuse are writes without an effect: 409, 429 and 500. Lose is a write whose answer is lost.
	Conflict, Throttle, Refuse, Lose float64
	// Crash ends the process before or after a write.
	Crash float64
	// Handover starts a second process before the first has ended, which goes on for up to MaxOverlap: a replica that was deposed and whose
	// calls are still on their way.
	Handover   float64
	MaxOverlap time.Duration
	// NoLease makes the leader unable to reach the lease for up to 40 seconds, and Freeze makes it stand still for up to a minute; both are drawn at each
	// renewal, and need a scene with a lease.
	NoLease, Freeze float64
	// Relist makes a watch end, with the history before it compacted: its informer lists, and finds out what has changed.
	Relist float64
	// Stall makes a watch stand still for up to MaxStall while the others go on: what happened to objects of several kinds is seen in another
	// order. Duplicate makes a watch show each of its events twice.
	Stall, Duplicate float64
	MaxStall         time.Duration
	// ClockJump sets the wall clock of a process at one of its writes: it is up to MaxJump ahead or behind from then on. Timers, and the time
	// between two readings in one process, do not change.
	ClockJump float64
	MaxJump   time.Duration
	// MaxListLag bounds how long instances take to appear in, and to disappear from, what the cloud lists.
	MaxListLag time.Duration
	// NoCapacity makes an offering run out for some minutes at a launch; CloudError fails a call of the cloud; LostLaunch loses the answer of a launch.
	NoCapacity, CloudError, LostLaunch float64
	// Deny is the kind whose writes are forbidden, as by a webhook; empty for none.
	Deny string
	// Boot is how long an instance boots; zero for ten seconds to a minute.
	Boot time.Duration
	// NoBoot makes an instance run whose Node never joins.
	NoBoot float64
	// LostReboot loses the answer of a reboot, RefuseReboot is one that the cloud rejects, and NoReturn one after which the node is not seen again.
	LostReboot, RefuseReboot, NoReturn float64
	// MaxDetach bounds how long a volume takes to be detached after its pod; zero for 20 seconds. NoDetach makes it take until faults end.
	MaxDetach time.Duration
	NoDetach  float64
	// MaxBind and MaxKubelet bound how long kube-scheduler and kubelets take to act; zero for what is usual.
	MaxBind, MaxKubelet time.Duration

	// Off ends all faults; what takes time still does.
	Off bool
	// Counts are how many of each there were.
	Counts map[string]int
}

// fault is what goes wrong with one call.
type fault struct {
	refuse                                        func(schema.GroupVersionKind, client.Object) error
	lose, crashBefore, crashAfter, handover, jump bool
}

// happens draws whether a fault happens. Each has a stream, and each draw a number, so that another one does not move it.
func (f *Faults) happens(w *World, name string, probability float64) bool {
	hit := w.stream("fault "+name).Float64() < probability
	w.draws[name]++
	if !hit || f.Off || !w.chosen(name, w.draws[name]) {
		return false
	}
	f.Counts[name]++
	return true
}

// draw decides about one call.
func (f *Faults) draw(w *World, verb string, kind string) (out fault) {
	if verb == "get" || verb == "list" {
		return out
	}
	if kind == f.Deny && !f.Off {
		f.Counts["denied"]++
		out.refuse = func(gvk schema.GroupVersionKind, o client.Object) error {
			return apierrors.NewForbidden(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, o.GetName(), errInjected)
		}
		return out
	}
	conflict := f.happens(w, "conflict", f.Conflict)
	throttle := f.happens(w, "throttle", f.Throttle)
	refuse := f.happens(w, "error", f.Refuse)
	out.lose = f.happens(w, "lost answer", f.Lose)
	out.jump = f.happens(w, "clock jump", f.ClockJump)
	out.handover = f.happens(w, "handover", f.Handover)
	out.crashBefore = f.happens(w, "crash before a write", f.Crash/2)
	out.crashAfter = f.happens(w, "crash after a write", f.Crash/2)
	switch {
	case conflict && verb != "create" && verb != "delete" && verb != "evict":
		out.refuse = func(gvk schema.GroupVersionKind, o client.Object) error {
			return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, o.GetName(), errInjected)
		}
	case throttle:
		out.refuse = func(schema.GroupVersionKind, client.Object) error { return apierrors.NewTooManyRequests("injected", 1) }
	case refuse:
		out.refuse = func(schema.GroupVersionKind, client.Object) error { return apierrors.NewInternalError(errInjected) }
	}
	return out
}
