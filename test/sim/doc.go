// Package sim runs a whole cluster in one process, on one clock and from one seed: the controllers of this project as they are, an API
// server in memory, a cloud, kubelets, kube-scheduler and the controllers of workloads.
//
// # How it is deterministic
//
// All goroutines live in a bubble of testing/synctest, and only the World lets any of them run. A goroutine of a controller runs until it
// calls the API server or the cloud, waits for its clock, or waits for its queue; there it stays until the World chooses it. The World
// draws when that is from a seed: the latency of each call, the lag of each watch and the duration of each launch is an event on one heap.
// So a controller may be interleaved with others, and may crash, at each of its calls, without a change of its code.
//
// testing/synctest alone does not suffice: it fakes time, but timers that are due at the same instant fire in random order. Here it only
// tells when everything has come to rest (synctest.Wait), and keeps the time for libraries.
//
// # Files
//
// world.go has the events and the seed, clock.go the clock, process.go a process with controllers, as controller-runtime's manager,
// queue.go its work queues, informer.go its cache, client.go its calls, uuids.go its UUIDs, cloud.go the cloud, hardware.go what its nodes do,
// volumes.go what their volumes do, actors.go the rest of a cluster, faults.go what goes wrong, choices.go which of it happens and how a seed is
// reduced, explore.go what may deviate from the usual order where schedules are explored instead of drawn, statehash.go when two states of the world
// are equal, scene.go and objects.go what the cluster has and how its users behave. What must hold all the same is in invariants.go, promises.go,
// marks.go, launches.go, drains.go and sizes.go. reboots.go and health.go have both sides of reboots and of unhealthy nodes: what happens, and what
// must hold.
//
// It panics where the simulation itself fails, such as when its API server cannot list what it stores: no seed means anything then.
//
// The API server is that of embedded/apiserver/registry. Package conformance beside it runs more than a hundred scenarios on it, with the options
// that it has here, and on kube-apiserver.
//
// What it leaves out: kube-scheduler is that of embedded/scheduler, which asks the engine; without a lease (lease.go), a process that is deposed
// acts for a bounded time beside the next one.
package sim
