package source

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// Format returns the format of snapshots of clusters of any of the providers.
func Format(providers command.Providers) (*snapshot.Format, error) {
	return snapshot.NewFormat(snapshotsOf(providers)...)
}

// LiveFormat returns the format in which commands that write no snapshot read clusters of any of the providers.
func LiveFormat(providers command.Providers) (*snapshot.Format, error) {
	return snapshot.NewLiveFormat(snapshotsOf(providers)...)
}

func snapshotsOf(providers command.Providers) (all []plugin.Snapshot) {
	for _, p := range providers {
		all = append(all, p.Snapshot)
	}
	return all
}

// NoPolicies says that the OperationsPolicies of a cluster are not known.
const NoPolicies = "no permission to list OperationsPolicies: which ones there are is not known"

// Unread says for kinds that may not be listed what was left out.
func Unread(forbidden []string) []string {
	var out []string
	for _, kind := range forbidden {
		switch kind {
		case snapshot.Policies:
			out = append(out, NoPolicies)
		case snapshot.Plans:
			out = append(out, noPlans)
		default:
			out = append(out, NoPermission)
		}
	}
	return out
}

// ReadSnapshot reads the snapshot of a cluster from a file, or from standard input. A snapshot without objects is an error: an answer about it would be
// that of a cluster in which nothing runs.
func ReadSnapshot(reader *manifest.Reader, file string, stdin io.Reader) (snapshot.Content, error) {
	held, err := snapshot.Read(reader, file, stdin)
	switch {
	case err != nil:
		return snapshot.Content{}, err
	case len(held.Objects) == 0 && len(held.Skipped) > 0:
		return held, fmt.Errorf("the snapshot %s holds nothing that has a bearing on scheduling; it begins with %s", file, held.Skipped[0])
	case len(held.Objects) == 0:
		return held, fmt.Errorf("the snapshot %s is empty: capture one with karpenter snapshot", file)
	}
	return held, nil
}

// Capture captures a live cluster in a format, with the settings of the controller in a namespace; in any namespace if it is empty. The tool is
// part of the user agent, with a version.
func Capture(ctx context.Context, access Access, format *snapshot.Format, controllerNamespace, tool string) (snapshot.Snapshot, error) {
	config, err := access.RESTConfig()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	config.UserAgent = tool
	// Objects are decoded as unstructured, so that no kind has to be known.
	cluster, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return snapshot.Snapshot{}, fmt.Errorf("connecting to the API server at %s: %w", config.Host, err)
	}
	taken, err := format.Capture(ctx, cluster, controllerNamespace)
	if err != nil {
		return snapshot.Snapshot{}, fmt.Errorf("reading the cluster at %s: %w", config.Host, err)
	}
	return taken, nil
}
