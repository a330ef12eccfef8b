package provider_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/cloud/aws/interruption"
	instanceprofile "github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
)

// pointers calls visit with every pointer in a value that is not nil, by the name of its field, such as Instance.Placement.
func pointers(v reflect.Value, visit func(name string, field reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			pointers(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			pointers(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field, kind := v.Field(i), v.Type().Field(i)
			if !kind.IsExported() || kind.Type == reflect.TypeFor[middleware.Metadata]() {
				continue
			}
			if field.Kind() == reflect.Pointer && !field.IsNil() {
				visit(v.Type().Name()+"."+kind.Name, field)
			}
			pointers(field, visit)
		}
	}
}

// answers returns an option of all clients that passes each answer to see, before the caller gets it.
func answers(see func(answer any)) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("answers", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if err == nil {
				see(out.Result)
			}
			return out, metadata, err
		}), middleware.Before)
	}
}

// useEverything makes the provider, with an empty cache, and everything beside it call AWS. Errors are expected: answers lack fields.
func (w *world) useEverything(ctx context.Context, config aws.Config) {
	w.Provider = provider.New(w.options)
	inventory, finder := w.Catalog.Inventory, w.Catalog.Finder
	_ = inventory.RefreshTypes(ctx)
	_ = inventory.RefreshOnDemand(ctx)
	_ = inventory.RefreshSpot(ctx, w.clock.Now())
	_, _ = finder.Subnets(ctx, w.class)
	_, _ = finder.SecurityGroups(ctx, w.class)
	_, _ = finder.Images(ctx, w.class, "1.34")
	_, _ = finder.CapacityReservations(ctx, w.class)
	_, _ = w.Catalog.PlacementGroupOf(ctx, w.class)
	_ = w.Catalog.Shifts.Refresh(ctx)
	_ = controlplane.New("test", eks.NewFromConfig(config)).LearnServiceCIDR(ctx)

	profiles := instanceprofile.NewManager(instanceprofile.Options{IAM: iam.NewFromConfig(config), Clock: w.clock, Cluster: "test", Region: config.Region, Unique: func() string { return "unique" }})
	class := w.class.DeepCopy()
	class.Status.InstanceProfile, _ = profiles.Ensure(ctx, class)
	_, _ = profiles.Ensure(ctx, class)
	_ = profiles.RemoveAll(ctx, class)

	queue := &interruption.Queue{
		API: sqs.NewFromConfig(config), Name: "queue", Region: config.Region, Clock: w.clock, Metrics: w.Metrics,
		Handle: func(context.Context, eventbridge.Event) error { return nil },
	}
	w.account.Send("queue", aws.String("{}"))
	_ = queue.Poll(ctx)

	claim := w.claim()
	created, err := w.Create(ctx, claim)
	if err != nil {
		created = claim
	}
	if all := w.account.Instances(); len(all) > 0 {
		created.Status.ProviderID = "aws:///us-east-1a/" + all[len(all)-1].ID
	}
	w.clock.Step(time.Second)
	_, _ = w.Get(ctx, created.Status.ProviderID)
	_, _ = w.List(ctx)
	_, _ = w.IsDrifted(ctx, created)
	_ = w.Delete(ctx, created)
	w.clock.Step(time.Hour)
	_ = w.Requests.Templates.Hydrate(ctx)
	_ = w.Requests.Templates.DeleteExpired(ctx)
	_ = w.Requests.Templates.RemoveAll(ctx, "default")
}

// newTamperedWorld returns a world with resources of all kinds, where see gets the answers of AWS once it is told to.
func newTamperedWorld(t *testing.T, see func(answer any)) (w *world, config aws.Config) {
	w = newWorld(t, "m5.large", "g4dn.xlarge", "inf1.xlarge")
	w.account.AddQueue("queue")
	w.account.SetShifts(awstest.Shift{ZoneID: "use1-az3", Ends: w.clock.Now().Add(time.Hour)})
	w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-1", Name: "group", Strategy: "cluster"})
	w.account.AddReservation(awstest.Reservation{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1b", Total: 2, Left: 2})
	w.class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	w.class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: aws.String("group")}
	config = awstest.Connect(t, w.account)
	config.APIOptions = append(config.APIOptions, answers(see))
	w.useClients(config)
	return w, config
}

// TestFieldsThatAnswersLack removes, one after the other, every pointer field from the answers of AWS: the SDK has no field that is always
// there. Nothing may panic; goroutines of the provider would end the process.
func TestFieldsThatAnswersLack(t *testing.T) {
	var mu sync.Mutex
	names := map[string]bool{}
	w, config := newTamperedWorld(t, func(answer any) {
		mu.Lock()
		defer mu.Unlock()
		pointers(reflect.ValueOf(answer), func(name string, _ reflect.Value) { names[name] = true })
	})
	w.useEverything(t.Context(), config)
	for _, want := range []string{"Parameter.Value", "Instance.Placement", "InstanceStateChange.CurrentState", "InstanceProfile.Path", "GetParameterOutput.Parameter", "Message.Body"} {
		if !names[want] {
			t.Errorf("no answer has %s: the test covers less than it says", want)
		}
	}
	work := make(chan string)
	var all sync.WaitGroup
	for range 4 {
		var missing atomic.Value
		missing.Store("")
		w, config := newTamperedWorld(t, func(answer any) {
			pointers(reflect.ValueOf(answer), func(name string, field reflect.Value) {
				if name == missing.Load() {
					field.SetZero()
				}
			})
		})
		all.Go(func() {
			for name := range work {
				missing.Store(name)
				if err := withoutPanic(func() { w.useEverything(t.Context(), config) }); err != nil {
					t.Errorf("answers without %s: %v", name, err)
				}
			}
		})
	}
	for name := range names {
		work <- name
	}
	close(work)
	all.Wait()
}

// TestParametersWithoutAValue has an alias of which one parameter has no value. An image that is left out would make its nodes drift.
func TestParametersWithoutAValue(t *testing.T) {
	removed := false
	w, _ := newTamperedWorld(t, func(answer any) {
		pointers(reflect.ValueOf(answer), func(name string, field reflect.Value) {
			if name == "Parameter.Value" && !removed {
				field.SetZero()
				removed = true
			}
		})
	})
	w.Provider = provider.New(w.options)
	if found, err := w.Catalog.Finder.Images(t.Context(), w.class, "1.34"); err == nil {
		t.Errorf("found %v", found)
	}
}

// withoutPanic returns a panic as an error.
func withoutPanic(do func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	do()
	return nil
}
