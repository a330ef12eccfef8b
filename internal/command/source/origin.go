package source

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Why an answer knows no settings of a controller.
const (
	// NoneInSnapshot: of a snapshot.
	NoneInSnapshot = "the snapshot does not have the settings of the controller"
	noneInCluster  = "the controller has not published its settings in the cluster"
	// NoPermission: of a live cluster.
	NoPermission = "you may not list ConfigMaps in all namespaces to read the settings of the controller: name its namespace with " +
		"--controller-namespace"
)

// Origin says where the settings of an answer are from.
type Origin struct {
	// published are the settings of the controller; nil if there are none. why says why not, where it is known.
	published *corev1.ConfigMap
	why       string
	// assumed says which feature gates are assumed to be on.
	assumed string
	// byUser are the flags that the user set; differing those that contradict the controller.
	byUser, differing []string
	// hasCatalog is set if the user named the instance types.
	hasCatalog bool
	// version is that of this program; empty if it has none.
	version string
}

// adopt sets a flag to the value that the controller has published, unless the user set it. Of feature gates, each counts by itself.
func (o *Origin) adopt(flag *kong.Flag, byUser bool) error {
	text, ok := o.published.Data[flag.Name]
	if !ok {
		return nil
	}
	there := reflect.New(flag.Target.Type()).Elem()
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text})
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, there); err != nil {
		if byUser {
			return nil
		}
		return fmt.Errorf("%s has a setting that this program cannot use: %w; give another value with --%s", o.controller(), err, flag.Name)
	}
	if gates, ok := flag.Target.Interface().(options.GateChanges); ok {
		o.adoptGates(gates, there)
		flag.Target.Set(there)
		return nil
	}
	switch {
	case !byUser:
		flag.Target.Set(there)
	case !reflect.DeepEqual(there.Interface(), flag.Target.Interface()):
		o.differing = append(o.differing, difference(flag.Name, flagText(flag.Target), flagText(there)))
	}
	return nil
}

// adoptGates applies the gates that the user named to those of the controller.
func (o *Origin) adoptGates(named options.GateChanges, there reflect.Value) {
	gates, _ := there.Interface().(options.GateChanges)
	for _, gate := range slices.Sorted(maps.Keys(named)) {
		if gates[gate] != named[gate] {
			o.differing = append(o.differing, fmt.Sprintf("--feature-gates=%s=%t (there %t)", gate, named[gate], gates[gate]))
		}
		gates[gate] = named[gate]
	}
}

// difference describes a flag that contradicts the controller.
func difference(flag, here, there string) string {
	return fmt.Sprintf("--%s=%s (there %s)", flag, here, cmp.Or(there, "not set"))
}

// flagText is the value of a flag in one line.
func flagText(value reflect.Value) string {
	switch v := value.Interface().(type) {
	case options.SchedulerConfig:
		return fmt.Sprintf("(%d default constraints)", len(v.DefaultConstraints()))
	default:
		return fmt.Sprint(v)
	}
}

// controller names the controller that has published the settings.
func (o *Origin) controller() string {
	text := fmt.Sprintf("the controller in namespace %s", o.published.Namespace)
	if v := o.published.Data[options.PublishedVersion]; v != "" {
		text += ", version " + v
	}
	if commit := o.published.Data[options.PublishedCommit]; commit != "" {
		text += " (commit " + commit + ")"
	}
	return text
}

// String says in one line which settings are used, without the instance types.
func (o *Origin) String() string {
	if o.published == nil {
		why := cmp.Or(o.why, noneInCluster)
		if o.assumed != "" {
			why += "; " + o.assumed
		}
		if len(o.byUser) == 0 {
			return "settings: defaults; " + why + "; give its flags, such as --catalog"
		}
		text := "settings: flags (" + strings.Join(o.byUser, ", ") + "), otherwise defaults; " + why
		if !o.hasCatalog {
			text += "; give its other flags, such as --catalog"
		}
		return text
	}
	text := "settings: from " + o.controller()
	if own := observe.ReadBuild(o.version).Version; o.version != "" && own != o.published.Data[options.PublishedVersion] {
		text += " (this program is version " + own + ")"
	}
	if len(o.differing) > 0 {
		text += ", except " + strings.Join(o.differing, ", ")
	}
	return text
}

// Line says in one line which settings and instance types are used.
func (o *Origin) Line(source string) string {
	return o.String() + "; instance types and prices: " + source
}

// Failed says that an error is about instance types that the controller has, if they were not named by the user. o may be nil.
func (o *Origin) Failed(err error) error {
	if o == nil || o.published == nil || o.hasCatalog {
		return err
	}
	return fmt.Errorf("%w; %s has these instance types: name a similar catalog with --%s", err, o.controller(), catalogFlag)
}
