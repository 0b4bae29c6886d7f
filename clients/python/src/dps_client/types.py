"""What the service takes and answers: the types of bodies and answers."""

from ._generated.types import *
