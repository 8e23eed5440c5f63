//go:build !linux

package store

import (
	"context"
	"errors"
)

func writes(context.Context, string) (<-chan struct{}, error) { return nil, errors.ErrUnsupported }
