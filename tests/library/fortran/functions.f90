! Calls every function of the Fortran module, most with integers of both kinds, and compares with what must come out.
program functions
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int64_t, c_loc, c_null_ptr, c_ptr
  use packwright
  implicit none

  integer, parameter :: i8 = c_int64_t, dp = kind(1.0d0)
  integer :: failures = 0

  call set_options
  call regular_types
  call listed_types
  call arrays
  call texts
  call failures_are_described
  call moves
  call blocks
  call statistics
  if (failures > 0) stop 1, quiet=.true.
  print '(a)', 'functions: verified'

contains

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what

    if (condition) return
    failures = failures + 1
    print '(3a)', 'WRONG: ', what, ': '//packwright_last_error()
  end subroutine expect

  subroutine ok(status, what)
    integer, intent(in) :: status
    character(*), intent(in) :: what

    call expect(status == PACKWRIGHT_OK, what)
  end subroutine ok

  ! Do both types move the same bytes? Frees both.
  subroutine expect_equal(a, b, what)
    type(packwright_type), intent(inout) :: a, b
    character(*), intent(in) :: what
    integer(i8) :: hashes(2, 2)

    call ok(packwright_hash(a, hashes(:, 1)), what)
    call ok(packwright_hash(b, hashes(:, 2)), what)
    call expect(all(hashes(:, 1) == hashes(:, 2)), what)
    call packwright_type_free(a)
    call packwright_type_free(b)
    call packwright_type_free(b)
  end subroutine expect_equal

  function number() result(type)
    type(packwright_type) :: type

    call ok(packwright_bytes(8, 8, type), 'bytes')
  end function number

  subroutine set_options
    call ok(packwright_configure(jit=PACKWRIGHT_JIT_OFF, cache_dir='', hot_bytes=1000_i8, statistics=.true., &
      quiet=.true.), 'configure')
    call expect(len(packwright_version()) >= 5, 'version')
    call expect(packwright_status_text(PACKWRIGHT_ERR_NOMEM) == 'out of memory', 'status_text')
  end subroutine set_options

  subroutine regular_types
    type(packwright_type) :: old, a, b
    integer(i8) :: lb, extent

    old = number()
    call ok(packwright_vector(10, 2, 5, old, a), 'vector')
    call ok(packwright_hvector(10_i8, 2_i8, 40_i8, old, b), 'hvector of 8 bytes')
    call expect(packwright_size(a) == 160, 'size')
    call expect(packwright_blocks(a) == 10, 'blocks')
    call packwright_extent(a, lb, extent)
    call expect(lb == 0 .and. extent == 376, 'extent')
    call expect_equal(a, b, 'vector and hvector')
    call ok(packwright_vector(10_i8, 2_i8, 5_i8, old, a), 'vector of 8 bytes')
    call ok(packwright_hvector(10, 2, 40, old, b), 'hvector')
    call expect_equal(a, b, 'vector and hvector once more')
    call ok(packwright_contiguous(4, old, a), 'contiguous')
    call ok(packwright_contiguous(4_i8, old, b), 'contiguous of 8 bytes')
    call expect_equal(a, b, 'contiguous')
    call ok(packwright_resized(-8, 24, old, a), 'resized')
    call packwright_extent(a, lb, extent)
    call expect(lb == -8 .and. extent == 24, 'extent of resized')
    call packwright_true_extent(a, lb, extent)
    call expect(lb == 0 .and. extent == 8, 'true_extent')
    b = packwright_dup(a)
    call expect_equal(a, b, 'dup')
    call ok(packwright_bytes(8_i8, 8_i8, a), 'bytes of 8 bytes')
    call expect_equal(a, old, 'bytes')
  end subroutine regular_types

  subroutine listed_types
    type(packwright_type) :: old, a, b

    old = number()
    call ok(packwright_indexed([2, 1], [0, 5], old, a), 'indexed')
    call ok(packwright_hindexed([2_i8, 1_i8], [0_i8, 40_i8], old, b), 'hindexed of 8 bytes')
    call expect_equal(a, b, 'indexed and hindexed')
    call ok(packwright_indexed([2_i8, 1_i8], [0_i8, 5_i8], old, a), 'indexed of 8 bytes')
    call ok(packwright_hindexed([2, 1], [0, 40], old, b), 'hindexed')
    call expect_equal(a, b, 'indexed and hindexed once more')
    call ok(packwright_indexed_block(2, [0, 3, 7], old, a), 'indexed_block')
    call ok(packwright_hindexed_block(2_i8, [0_i8, 24_i8, 56_i8], old, b), 'hindexed_block of 8 bytes')
    call expect_equal(a, b, 'indexed_block and hindexed_block')
    call ok(packwright_indexed_block(2_i8, [0_i8, 3_i8, 7_i8], old, a), 'indexed_block of 8 bytes')
    call ok(packwright_hindexed_block(2, [0, 24, 56], old, b), 'hindexed_block')
    call expect_equal(a, b, 'indexed_block and hindexed_block once more')
    call ok(packwright_struct([1, 2], [0, 16], [old, old], a), 'struct')
    call ok(packwright_struct([1_i8, 2_i8], [0_i8, 16_i8], [old, old], b), 'struct of 8 bytes')
    call expect_equal(a, b, 'struct')
    call packwright_type_free(old)
  end subroutine listed_types

  subroutine arrays
    type(packwright_type) :: old, a, b

    old = number()
    call ok(packwright_subarray([5, 7], [2, 3], [1, 2], PACKWRIGHT_ORDER_FORTRAN, old, a), 'subarray')
    call ok(packwright_subarray([7_i8, 5_i8], [3_i8, 2_i8], [2_i8, 1_i8], PACKWRIGHT_ORDER_C, old, b), &
      'subarray of 8 bytes')
    call expect_equal(a, b, 'subarrays of both orders')
    call ok(packwright_darray(2, 1, [6], [PACKWRIGHT_DISTRIBUTE_BLOCK], [PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG], [2], &
      PACKWRIGHT_ORDER_FORTRAN, old, a), 'darray')
    call ok(packwright_darray(2_i8, 1_i8, [6_i8], [PACKWRIGHT_DISTRIBUTE_BLOCK], [3_i8], [2_i8], PACKWRIGHT_ORDER_C, &
      old, b), 'darray of 8 bytes')
    call expect(packwright_size(a) == 24, 'size of darray')
    call expect_equal(a, b, 'darray')
    call packwright_type_free(old)
  end subroutine arrays

  subroutine texts
    type(packwright_type) :: a, b
    character(:), allocatable :: text

    call ok(packwright_from_ddt('vec(10 2 5)[double]', a), 'from_ddt')
    call ok(packwright_from_ddt_named('x = byte y = vec(10 2 5)[double]', 'y', b), 'from_ddt_named')
    call expect_equal(a, b, 'from_ddt')
    call ok(packwright_from_ddt('vec(10 2 5)[double]', a), 'from_ddt')
    call ok(packwright_text_of(a, PACKWRIGHT_TEXT_IR, text), 'text_of')
    call ok(packwright_from_ir(text, b), 'from_ir')
    call expect_equal(a, b, 'from_ir')
    call ok(packwright_from_ddt('vec(10 2 5)[double]', a), 'from_ddt')
    call ok(packwright_text_of(a, PACKWRIGHT_TEXT_DDT, text), 'text_of')
    call ok(packwright_from_ddt(text, b), 'from_ddt of a text')
    call expect_equal(a, b, 'text_of')
  end subroutine texts

  subroutine failures_are_described
    type(packwright_type) :: old, out

    old = number()
    call expect(packwright_contiguous(-1, old, out) == PACKWRIGHT_ERR_INVALID, 'a negative count')
    call expect(index(packwright_last_error(), 'count') > 0, 'the name of the argument')
    call expect(packwright_indexed([1, 2], [1], old, out) == PACKWRIGHT_ERR_INVALID, 'lists of different lengths')
    call expect(packwright_fail(PACKWRIGHT_ERR_DEVICE, 'because') == PACKWRIGHT_ERR_DEVICE, 'fail')
    call expect(packwright_last_error() == 'because', 'what fail said')
    call packwright_type_free(old)
  end subroutine failures_are_described

  subroutine moves
    type(packwright_type) :: old, row, dense
    real(dp), target :: matrix(4, 5), copy(4, 5), packed(5), part(2), scalar
    integer :: i, status

    old = number()
    matrix = reshape([(real(i, dp), i=1, 20)], [4, 5])
    call ok(packwright_vector(5, 1, 4, old, row), 'a row')
    call ok(packwright_pack(row, matrix(3, 1), 1, packed), 'pack')
    call expect(all(packed == matrix(3, :)), 'packed values')
    call ok(packwright_pack_range(row, matrix(3, 1), 1, 8, 24, part), 'pack_range')
    call expect(all(part == matrix(3, 2:3)), 'a packed range')
    copy = 0
    call ok(packwright_unpack(row, copy(2, 1), 1_i8, packed), 'unpack of 8 bytes')
    call expect(all(copy(2, :) == matrix(3, :)) .and. sum(copy) == sum(packed), 'unpacked values')
    call ok(packwright_unpack_range(row, copy(1, 1), 1_i8, 8_i8, 24_i8, part), 'unpack_range of 8 bytes')
    call expect(all(copy(1, :) == [0.0_dp, part, 0.0_dp, 0.0_dp]), 'an unpacked range')
    call ok(packwright_contiguous(5, old, dense), 'contiguous')
    packed = 0
    call ok(packwright_copy(row, matrix(4, 1), 1, dense, packed, 1), 'copy')
    call expect(all(packed == matrix(4, :)), 'copied values')
    call ok(packwright_pack(old, matrix(2, 2), 1_i8, scalar), 'pack to a scalar')
    call expect(scalar == matrix(2, 2), 'a packed scalar')
    call expect(packwright_pack_range(row, matrix, 1_i8, 0_i8, 48_i8, packed) /= PACKWRIGHT_OK, 'a range too long')
    packed = 0
    call streams(row, c_loc(matrix), c_loc(packed), packwright_pack_stream(row, c_loc(matrix), 1, c_loc(packed), &
      c_null_ptr), packed, matrix(1, :))
    packed = 0
    status = packwright_copy_stream(row, c_loc(matrix(4, 1)), 1, dense, c_loc(packed), 1, c_null_ptr)
    call expect(status == PACKWRIGHT_OK .or. status == PACKWRIGHT_ERR_UNSUPPORTED, 'copy_stream')
    call expect(status /= PACKWRIGHT_OK .or. all(packed == matrix(4, :)), 'values copied by a stream')
    call expect(packwright_copy_stream(row, c_loc(matrix), 1_i8, dense, c_loc(packed), 2_i8, c_null_ptr) == &
      PACKWRIGHT_ERR_INVALID, 'copy_stream of unequal bytes')
    call packwright_type_free(old)
    call packwright_type_free(row)
    call packwright_type_free(dense)
  end subroutine moves

  ! A machine without a CUDA driver may refuse.
  subroutine streams(row, memory, image, status, packed, expected)
    type(packwright_type), intent(in) :: row
    type(c_ptr), intent(in) :: memory, image
    integer, intent(in) :: status
    real(dp), intent(in), target :: packed(:), expected(:)

    call expect(status == PACKWRIGHT_OK .or. status == PACKWRIGHT_ERR_UNSUPPORTED, 'pack_stream')
    if (status /= PACKWRIGHT_OK) return
    call expect(all(packed == expected), 'values packed by a stream')
    call ok(packwright_unpack_stream(row, memory, 1_i8, image, c_null_ptr), 'unpack_stream')
  end subroutine streams

  subroutine blocks
    type(packwright_type) :: old, row
    type(packwright_iov) :: iov(2)
    real(dp), target :: matrix(4, 5)
    real(dp), pointer :: element
    integer :: filled
    integer(i8) :: filled_i8

    matrix = 0
    matrix(1, 5) = 7
    old = number()
    call ok(packwright_vector(5, 1, 4, old, row), 'a row')
    call ok(packwright_iovs(row, matrix, 1, 0, iov, filled), 'iovs')
    call expect(filled == 2 .and. all(iov%length == 8), 'the first two blocks')
    call ok(packwright_iovs(row, matrix, 1_i8, 4_i8, iov, filled_i8), 'iovs of 8 bytes')
    call expect(filled_i8 == 1, 'the last block')
    call c_f_pointer(iov(1)%base, element)
    call expect(element == 7, 'the address of a block')
    call expect(packwright_address(matrix(1, 2)) - packwright_address(matrix) == 32, 'address')
    call packwright_type_free(old)
    call packwright_type_free(row)
  end subroutine blocks

  subroutine statistics
    type(packwright_type) :: row
    type(packwright_statistics) :: counts
    real(dp) :: from(9), to(3)

    from = 1
    call ok(packwright_from_ddt('vec(3 1 4)[double]', row), 'from_ddt')
    call ok(packwright_pack(row, from, 1, to), 'pack')
    call ok(packwright_type_statistics(row, counts), 'type_statistics')
    call expect(counts%packs == 1 .and. counts%unpacks == 0 .and. counts%bytes == 24, 'counts')
    call packwright_type_free(row)
  end subroutine statistics

end program functions
