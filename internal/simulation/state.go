package simulation

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
)

// ClusterState is a cluster at one moment.
type ClusterState struct {
	// Objects are all objects of the cluster. They are not changed, here or elsewhere.
	Objects []client.Object
	// Version differs between two states with different objects, and between such that are far enough apart in time.
	Version uint64
	Cloud   cloud.Cloud
	// Options are the policies of the controller; Now is the moment of the state.
	Options Options
	// Origin is the name of the cluster or of the file.
	Origin string
	// Failure is why the cluster could not be read again since; empty if it could.
	Failure string
	// Rest is for how long the answers of the engine about an earlier state are good enough; 0 for never. It bounds the work in a process that
	// has other things to do.
	Rest time.Duration
	// Unknown is what the objects do not say and a controller would know, as sentences.
	Unknown []string
}
