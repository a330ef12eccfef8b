package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// Watched is a live cluster whose changes are followed.
type Watched struct {
	*snapshot.Watch

	source *Cluster
	tool   string
	reader *manifest.Reader
	// settings are the ConfigMaps that origin was made of.
	settings []client.Object
	origin   *Origin
}

// Watch lists a live cluster for a subcommand, and follows it until ctx ends.
func (c *Cluster) Watch(ctx context.Context, subcommand string) (*Watched, error) {
	if err := c.Check(); err != nil {
		return nil, command.WithCode(err, command.ExitUsage)
	}
	reader, err := c.Settings.Place.Reader()
	if err != nil {
		return nil, err
	}
	format, err := LiveFormat(c.Settings.Place.binary.Providers)
	if err != nil {
		return nil, err
	}
	config, err := c.Access.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "karpenter-" + subcommand + "/" + c.Settings.Place.binary.Version
	config.Timeout = 0 // it would end watches, too
	cluster, err := client.NewWithWatch(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server at %s: %w", config.Host, err)
	}
	watch, err := format.Watch(ctx, cluster, reader, snapshot.WatchOptions{
		SettingsNamespace: c.Settings.ControllerNamespace, ListTimeout: time.Duration(c.Access.Timeout),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the cluster at %s: %w", config.Host, err)
	}
	return &Watched{Watch: watch, source: c, tool: subcommand, reader: reader}, nil
}

// State is what the cluster holds now. Settings that no flag sets are those of its controller.
func (w *Watched) State(k *kong.Context) (*State, error) {
	objects := w.Objects()
	var settings []client.Object
	for i, o := range objects {
		switch o := o.(type) {
		case *corev1.ConfigMap:
			settings = append(settings, o)
		case cloud.NodeClassObject: // providers give it a status
			objects[i], _ = o.DeepCopyObject().(client.Object)
		}
	}
	if w.origin == nil || !slices.EqualFunc(w.settings, settings, func(a, b client.Object) bool { return equality.Semantic.DeepEqual(a, b) }) {
		why := ""
		if slices.Contains(w.Forbidden(), snapshot.Settings) {
			why = NoPermission
		}
		origin, err := w.source.Settings.Adopt(k, objects, why)
		if err != nil {
			return nil, command.WithCode(err, command.ExitUsage)
		}
		w.origin, w.settings = origin, settings
	}
	return &State{
		Reader: w.reader, Objects: objects, source: w.source, tool: w.tool, origin: w.origin,
		gaps: gaps{missing: installed(w.Absent()), forbidden: w.Forbidden()},
	}, nil
}

// Unknown says what is not followed, as sentences.
func (w *Watched) Unknown() []string {
	kinds := w.Unwatched()
	if len(kinds) == 0 {
		return nil
	}
	return []string{"changes since the last read of what you may list and not watch: " + strings.Join(kinds, ", ")}
}
