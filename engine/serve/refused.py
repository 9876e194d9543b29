"""A request that gets an error instead of an answer."""

from __future__ import annotations

from starlette.responses import JSONResponse


class Refused(Exception):
    """The status, and the error in OpenAI's form; `field`: what is wrong with the request."""

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers
        self.body = {"error": {"message": message, "type": kind, "param": field, "code": code}}

    @property
    def response(self) -> JSONResponse:
        """For the client."""
        return JSONResponse(self.body, self.status, self.headers)
