package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// awsPlace is a case by where its nodes may be, and the reservation that they may be in, if any.
type awsPlace struct {
	zones       []string
	reservation string
	replicas    int32
}

// The zone that traffic is shifted away from, by name and id, and another one.
const shiftedZone, shiftedZoneID, otherZone = "us-east-1a", "use1-az1", "us-east-1b"

// shifting is a cluster where traffic is shifted away from a zone and reservations end.
type shifting struct {
	*harness
	aws        *awscluster.AWS
	cases      map[string]awsPlace
	pools      map[string]*v1.NodePool
	flags      []string
	controller *controller
	// pods is how many pods of each case have to run; old are the nodes of before the shift.
	pods map[string]int32
	old  map[string]ec2Node
}

// TestAWSShiftsAndBlocks begins a zonal shift and lets capacity blocks end. During the shift nothing is launched
// in the zone and nothing is disrupted there, whatever the events of EC2; after it, the zone is used again. Nodes of a capacity block
// that is about to end are replaced by on-demand ones, those in other reservations remain until these end, and nodes that lost their reservation
// are labeled as on-demand.
func TestAWSShiftsAndBlocks(t *testing.T) {
	t.Attr("covers", "A188 A252 A253 A350 A352")
	t.Parallel()
	w := &shifting{harness: begin(t), pods: map[string]int32{}, old: map[string]ec2Node{}}
	w.aws = w.account("m5.large")
	w.cases = map[string]awsPlace{
		"unwanted": {[]string{shiftedZone}, "", 1}, "failing": {[]string{shiftedZone}, "", 1}, "bound": {[]string{shiftedZone}, "", 0},
		"free":  {[]string{shiftedZone, otherZone}, "", 0},
		"block": {[]string{otherZone}, "cr-b10c", 1}, "lasting": {[]string{otherZone}, "cr-1a575", 1}, "ended": {[]string{otherZone}, "cr-e4d5", 1},
	}
	w.flags = append(w.aws.Flags(), "--enable-zonal-shift", "--feature-gates=ReservedCapacity=true")
	w.setUp()
	w.beginShift()
	w.askForMore()
	w.checkZoneIsLeftAlone()
	w.awaitReservationsGiveUp()
	w.endShift()
}

// reserve makes a capacity reservation for one instance, or changes it.
func (w *shifting) reserve(id, kind string, left int, ends time.Duration) {
	w.aws.Account.AddReservation(awstest.Reservation{
		ID: id, InstanceType: "m5.large", Zone: otherZone, Kind: kind, Total: 1, Left: left, End: time.Now().Add(ends),
	})
}

// setUp launches the nodes of all cases, those of reservations in these.
func (w *shifting) setUp() {
	w.t.Helper()
	kinds := map[string]string{"block": "capacity-block", "lasting": "default", "ended": "default"}
	for name, kind := range kinds {
		w.reserve(w.cases[name].reservation, kind, 1, 2*time.Hour)
	}
	w.controller = w.harness.controller(w.flags...)
	w.pools = w.settle(w.cases)
	for name, c := range w.cases {
		w.pods[name] = c.replicas
	}
	w.awaitCases(w.pods)
	for name, c := range w.cases {
		if c.replicas > 0 {
			w.old[name] = w.onlyNode(w.aws, name)
		}
	}
	for name, kind := range kinds {
		n := w.old[name]
		if obstacle := w.wrongLabels(&n, v1.CapacityTypeReserved, w.cases[name].reservation, kind); obstacle != "" || n.instance.Reservation != w.cases[name].reservation {
			w.t.Errorf("the node of %s is in the reservation %q: %s", name, n.instance.Reservation, obstacle)
		}
	}
}

// restart lets another controller go on. Shifts are asked for twice a minute, health and reservations once, and all when a controller
// starts.
func (w *shifting) restart() {
	w.t.Helper()
	w.must(w.controller.Kill())
	w.controller = w.harness.controller(w.flags...)
}

// beginShift shifts traffic away from a zone in which an instance fails, brings the end of a block near, and takes an instance out of its
// reservation.
func (w *shifting) beginShift() {
	w.t.Helper()
	w.aws.Account.SetShifts(awstest.Shift{ZoneID: shiftedZoneID, Ends: time.Now().Add(2 * time.Hour)})
	w.reserve("cr-b10c", "capacity-block", 0, 30*time.Minute)
	w.reserve("cr-1a575", "default", 0, 30*time.Minute)
	w.aws.Account.Change(w.old["failing"].instance.ID, func(i *awstest.Instance) { i.InstanceFailed = time.Now().Add(-time.Hour) })
	w.aws.Account.Change(w.old["ended"].instance.ID, func(i *awstest.Instance) { i.Reservation, i.ReservationPreference = "", "" })
	w.restart()
	w.announced(w.pools, w.cases, shiftedZone, "ZonalShiftActive")
}

// askForMore deletes a claim in the zone and asks for pods that can run nowhere else, and for some that can.
func (w *shifting) askForMore() {
	w.t.Helper()
	w.delete(w.claimOf(w.old["unwanted"].instance.ID))
	w.create(awsPods("bound", 1, apart("bound")), awsPods("free", 2, apart("free")))
	w.pods["bound"], w.pods["free"], w.pods["unwanted"] = 0, 2, 0
	w.awaitCases(w.pods)
}

// checkZoneIsLeftAlone checks that the controller postpones terminations in the zone, and launches nothing there.
func (w *shifting) checkZoneIsLeftAlone() {
	w.t.Helper()
	w.await("what is in the zone is left alone", patience, func() string {
		text, err := os.ReadFile(w.controller.log)
		w.must(err)
		for _, want := range []string{"termination of an unhealthy instance is postponed", "traffic is shifted away from its zone"} {
			if !strings.Contains(string(text), want) {
				return "it does not log " + want
			}
		}
		return ""
	})
	for name, c := range w.cases {
		if slices.Equal(c.zones, []string{shiftedZone}) && c.replicas > 0 {
			if state := w.state(w.aws, w.old[name].instance.ID); state != "running" {
				w.t.Errorf("the instance of %s, in the zone that is shifted away from, is %s", name, state)
			}
		}
	}
	for _, n := range w.nodesOf(w.aws, "free") {
		if n.instance.Zone != otherZone {
			w.t.Errorf("during a shift away from %s, %s was launched in %s", shiftedZone, n.Name, n.instance.Zone)
		}
	}
	if launched := w.inZone(w.aws, shiftedZone); launched != 2 {
		w.t.Errorf("%d instances in %s, want the 2 of before the shift", launched, shiftedZone)
	}
}

// awaitReservationsGiveUp waits until the node of the block is another one, and all nodes say what they are in.
func (w *shifting) awaitReservationsGiveUp() {
	w.t.Helper()
	w.await("reservations that end give their nodes up", awsPatience, func() string {
		block := w.old["block"]
		if obstacle := w.replaced(w.aws, "block", &block); obstacle != "" {
			return "block: " + obstacle
		}
		for name, reservation := range map[string]string{"block": "", "ended": "", "lasting": "cr-1a575"} {
			n, kind := w.onlyNode(w.aws, name), v1.CapacityTypeOnDemand
			if reservation != "" {
				kind = v1.CapacityTypeReserved
			}
			if n.instance.Reservation != reservation || name != "block" && n.instance.ID != w.old[name].instance.ID {
				return fmt.Sprintf("%s: instance %s in reservation %q", name, n.instance.ID, n.instance.Reservation)
			}
			if obstacle := w.wrongLabels(&n, kind, reservation, "default"); obstacle != "" {
				return name + ": " + obstacle
			}
		}
		return ""
	})
}

// endShift ends the shift: what waited for the zone is launched there, and what was to be ended is.
func (w *shifting) endShift() {
	w.t.Helper()
	w.aws.Account.SetShifts()
	w.announced(w.pools, w.cases, shiftedZone, "ZonalShiftCleared")
	w.restart()
	w.pods["bound"], w.pods["unwanted"] = 1, 1
	w.awaitCases(w.pods)
	w.await("the zone is used again, and what was left there is replaced", awsPatience, func() string {
		for _, name := range []string{"unwanted", "failing"} {
			before := w.old[name]
			if obstacle := w.replaced(w.aws, name, &before); obstacle != "" {
				return name + ": " + obstacle
			}
		}
		return ""
	})
	if n := w.onlyNode(w.aws, "bound"); n.instance.Zone != shiftedZone {
		w.t.Errorf("the node of the pod that is bound to %s is in %s", shiftedZone, n.instance.Zone)
	}
}

// settle makes the class, the pool and the pods of each case that has any. The pools are by the name of the case.
func (w *harness) settle(cases map[string]awsPlace) map[string]*v1.NodePool {
	w.t.Helper()
	pools := map[string]*v1.NodePool{}
	for name, c := range cases {
		class := awsClass(name)
		if c.reservation != "" {
			class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: c.reservation}}
		}
		pools[name] = awsPool(name, []string{"m5.large"}, func(p *v1.NodePool) {
			r := &p.Spec.Template.Spec.Requirements
			(*r)[1] = in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand, v1.CapacityTypeReserved)
			*r = append(*r, in(corev1.LabelTopologyZone, c.zones...))
		})
		if w.create(class, pools[name]); c.replicas > 0 {
			w.create(awsPods(name, c.replicas, apart(name)))
		}
	}
	return pools
}

// apart spreads the pods of a workload over nodes, one each.
func apart(name string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		}}}}
	}
}

// onlyNode is the one node of a case, once it is in order.
func (w *harness) onlyNode(a *awscluster.AWS, name string) ec2Node {
	w.t.Helper()
	var out ec2Node
	w.await("the node of "+name+" is as expected", patience, func() string {
		nodes := w.nodesOf(a, name)
		if len(nodes) != 1 {
			return fmt.Sprintf("%d nodes", len(nodes))
		}
		out = nodes[0]
		return ""
	})
	return out
}

// wrongLabels describes wrong labels of capacity type and reservation, on the node and on its claim.
func (w *harness) wrongLabels(n *ec2Node, capacityType, reservation, kind string) string {
	w.t.Helper()
	want := map[string]string{v1.CapacityTypeLabelKey: capacityType}
	if reservation == "" {
		kind = ""
	} else {
		want[awsv1.LabelCapacityReservationInterruptible] = "false"
	}
	want[awsv1.LabelCapacityReservationID], want[awsv1.LabelCapacityReservationType] = reservation, kind
	for object, labels := range map[string]map[string]string{"node": n.Labels, "claim": w.claimOf(n.instance.ID).Labels} {
		for key, value := range want {
			if labels[key] != value {
				return fmt.Sprintf("label %s of its %s is %q, not %q", key, object, labels[key], value)
			}
		}
	}
	return ""
}

// claimOf is the claim of an instance.
func (w *harness) claimOf(id string) *v1.NodeClaim {
	w.t.Helper()
	claims := w.claims()
	at := slices.IndexFunc(claims, func(c v1.NodeClaim) bool { return strings.HasSuffix(c.Status.ProviderID, "/"+id) })
	if at < 0 {
		w.t.Fatalf("instance %s has no claim", id)
	}
	return &claims[at]
}

// state is the state of an instance.
func (w *harness) state(a *awscluster.AWS, id string) string {
	for _, i := range a.Account.Instances() {
		if i.ID == id {
			return i.State
		}
	}
	return "unknown"
}

// inZone is the total number of instances launched in a zone.
func (w *harness) inZone(a *awscluster.AWS, zone string) int {
	n := 0
	for _, i := range a.Account.Instances() {
		if i.Zone == zone {
			n++
		}
	}
	return n
}

// announced waits until the pools that may have nodes in a zone have the event of a shift, and checks that no others have.
func (w *harness) announced(pools map[string]*v1.NodePool, cases map[string]awsPlace, zone, reason string) {
	w.t.Helper()
	w.await("pools have an event of the shift: "+reason, patience, func() string {
		for name, pool := range pools {
			if slices.Contains(cases[name].zones, zone) && len(w.events(pool, reason)) == 0 {
				return name + " is not"
			}
		}
		return ""
	})
	for name, pool := range pools {
		if told := w.events(pool, reason); !slices.Contains(cases[name].zones, zone) && len(told) > 0 {
			w.t.Errorf("pool %s, which has no nodes in %s, has the event %q", name, zone, told)
		}
	}
}
