// Package manager runs the controller as `karpenter controller` wires it, in a bubble of testing/synctest: the manager with its informers, work queues,
// lease, clients, rate limits, events, probes and metrics, in two replicas. Time passes only when all goroutines wait, so that days take minutes, and the
// race detector looks at all of it.
//
// Package sim has one goroutine run at a time, and replays a seed; here the goroutines run as they do in production, and a seed does not replay a run. What
// is found here is told again there, if it can be.
//
// # What there is beside the controller
//
// The API server is that of embedded/apiserver. A client reaches it by a function call (transport.go), because a goroutine that waits for a socket would stop
// the clock; the endpoints of the controller are listened to in memory, too (endpoint.go). kube-scheduler, kubelets and the controllers of workloads are those of
// embedded; the cloud has the catalog of cloud/kwok, and instances that boot, end and die (cloud.go), or is cloud/kwok itself. Users and operators act in user.go, replicas come
// and go in replica.go.
//
// # What is checked
//
// That only the holder of the lease writes or launches (leaders.go); invariants about what the API server and the cloud have (checks.go); that no kind of request is
// repeated without a delay (traffic.go); that the cluster comes to rest each day, logs no warning then, and nothing moves; and, by the bubble, that no goroutine
// is left once the controllers have ended.
//
// # What the bubble demands
//
// A goroutine that waits for a mutex is not idle: if the holder waits for the clock, time stands still, and the test ends by its timeout, with the goroutines. So
// requests of discovery, during which clients hold one, take no time, and --disable-controller-warmup=false cannot be run: the library holds one while caches are
// filled. Loggers of libraries are global and are set once in TestMain, and so is the handler of
// errors that limits their rate by the time of the host.
package manager
