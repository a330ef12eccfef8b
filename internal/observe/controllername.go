package observe

import "context"

// controllerKey is the context key of the controller's name.
type controllerKey struct{}

// WithController marks work as done for a controller, so that calls to the cloud are counted under its name.
func WithController(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, controllerKey{}, name)
}

// ControllerName returns the name given to WithController; empty without one.
func ControllerName(ctx context.Context) string {
	name, _ := ctx.Value(controllerKey{}).(string)
	return name
}
